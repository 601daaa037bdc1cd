"""What the guard raises. Each message says what happened, in which thread and on which device."""


class GuardError(RuntimeError):
    """Anything that the guard raises."""


class GuardRefusedError(GuardError):
    """A setting that hides failures is on, or this build of torch can't be guarded."""


class DenseAttentionError(GuardError):
    """flex_attention ran without torch.compile and would have built its whole scores matrix."""


class CompileAfterWarmError(GuardError):
    """Something compiled after ``guard.warm()``."""


class RanksDifferError(GuardError):
    """Ranks of one run are not of one build, interpreter or setting."""


class FirstStepDeadlineError(GuardError):
    """A first forward and backward did not end in time."""
