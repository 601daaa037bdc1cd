from envguard.adapters.provenance.caches import pip_cache_folder, uv_cache_folder
from envguard.adapters.provenance.local import LocalProvenance

__all__ = ["LocalProvenance", "pip_cache_folder", "uv_cache_folder"]
