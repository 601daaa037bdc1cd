"""The style of the HTML page: light and dark, from 320 pixels up."""

STYLE = """
:root{--bg:#f6f7f9;--card:#fff;--ink:#1a1f27;--dim:#5b6472;--line:#dde1e7;--code:#eef1f5;
--match:#1a7f37;--drift:#c62828;--unknown:#8a5a00;--note:#0b62b8;--silent:#68707d;--ignored:#68707d;
--match-bg:#e4f4e8;--drift-bg:#fde8e8;--unknown-bg:#fdf1d8;--note-bg:#e4effb;--silent-bg:#eceff3;--ignored-bg:#eceff3}
@media (prefers-color-scheme:dark){:root{--bg:#0f1318;--card:#181e26;--ink:#e6eaf0;--dim:#9aa5b4;--line:#2c3540;
--code:#222a34;--match:#5fcf80;--drift:#ff8a80;--unknown:#f0b849;--note:#7ab8ff;--silent:#9aa5b4;--ignored:#9aa5b4;
--match-bg:#15301e;--drift-bg:#3c1a1a;--unknown-bg:#382b10;--note-bg:#152a42;--silent-bg:#232b35;--ignored-bg:#232b35}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0;overflow-wrap:anywhere;background:var(--bg);color:var(--ink);font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
main{max-width:1080px;margin:0 auto;padding:16px;display:grid;gap:16px;grid-template-columns:minmax(0,1fr)}
h1{font-size:1.5rem;line-height:1.2;margin:0 0 4px}h2{font-size:1.15rem;margin:0 0 12px}
h3{font-size:1rem;margin:0 0 8px;font-weight:600}p{margin:0 0 6px}small{font-size:.8125rem}.dim{color:var(--dim)}
code{font:0.875em/1.4 ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;background:var(--code);
border-radius:4px;padding:1px 5px;overflow-wrap:anywhere}
header{display:flex;gap:16px;align-items:flex-start;background:var(--card);border:1px solid var(--line);
border-left:6px solid var(--tone);border-radius:10px;padding:20px 16px}
header p{margin:2px 0}header>div{min-width:0}header .sign{flex:none;width:48px;height:48px;font-size:26px}
.sign{display:inline-flex;align-items:center;justify-content:center;width:26px;height:26px;border-radius:50%;
background:var(--tone-bg);color:var(--tone);font-weight:700}
.match{--tone:var(--match);--tone-bg:var(--match-bg)}.drift{--tone:var(--drift);--tone-bg:var(--drift-bg)}
.unknown{--tone:var(--unknown);--tone-bg:var(--unknown-bg)}.note{--tone:var(--note);--tone-bg:var(--note-bg)}
.silent{--tone:var(--silent);--tone-bg:var(--silent-bg)}.ignored{--tone:var(--ignored);--tone-bg:var(--ignored-bg)}
.strip{display:grid;gap:10px;grid-template-columns:repeat(4,minmax(0,1fr))}
.card{display:grid;grid-template-columns:auto minmax(0,1fr);column-gap:10px;background:var(--card);color:inherit;
text-decoration:none;border:1px solid var(--line);border-top:4px solid var(--tone);border-radius:10px;padding:12px}
.card .sign{grid-row:span 2;align-self:start}.card small{grid-column:2}.card small.dim{grid-column:1/-1;margin-top:6px}
.card b+small{color:var(--tone);font-weight:600}.card:focus-visible{outline:3px solid var(--note);outline-offset:2px}
section{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:16px;scroll-margin-top:8px}
article{border-top:1px solid var(--line);padding:12px 0 4px}h2+article{border-top:0;padding-top:0}
ul{list-style:none;margin:0;padding:0}li{border-left:3px solid var(--tone,var(--line));padding:2px 0 2px 12px;margin:0 0 12px}
li b{overflow-wrap:anywhere}
.pill{display:inline-block;background:var(--tone-bg);color:var(--tone);border-radius:999px;padding:1px 9px;
font-size:.8125rem;font-weight:600;white-space:nowrap}
.sides{display:grid;grid-template-columns:repeat(2,minmax(0,1fr));gap:8px;margin:6px 0}
.sides>div{display:grid;gap:2px;align-content:start}.sides small{color:var(--dim)}
.sides code{display:block;padding:6px 8px}.sides .now code{background:var(--tone-bg);color:var(--tone)}
.quiet{display:flex;flex-wrap:wrap;gap:6px;align-items:center;border-top:1px solid var(--line);padding-top:10px;margin-top:10px}
h2+.quiet{border-top:0;padding-top:0;margin-top:0}.quiet span{color:var(--tone);font-weight:600;font-size:.875rem}
.cache{margin:8px 0 0}.cache figcaption{font-weight:600;margin-bottom:8px}
.device{display:grid;grid-template-columns:76px minmax(0,1fr) 170px;gap:10px;align-items:center;margin-bottom:8px}
.device code{text-align:center}.bar{display:flex;height:18px;border-radius:5px;overflow:hidden;background:var(--code)}
.bar i,.legend i{display:block}.hit{background:var(--match)}
.stale{background:repeating-linear-gradient(135deg,var(--unknown) 0 5px,var(--unknown-bg) 5px 9px)}
.gone{background:var(--drift-bg);box-shadow:inset 0 0 0 2px var(--drift)}
.legend{display:flex;flex-wrap:wrap;gap:6px 18px;color:var(--dim);font-size:.8125rem;margin:10px 0 0}
.legend span{display:flex;gap:6px;align-items:center}.legend i{width:16px;height:12px;border-radius:3px}
.wide{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:.9375rem}
th,td{text-align:left;padding:7px 10px;border-bottom:1px solid var(--line);vertical-align:top;overflow-wrap:anywhere}
tr:first-child th{color:var(--dim);font-weight:600;font-size:.8125rem}th[scope=row]{font-weight:500}
tr.moved td:last-child{color:var(--drift);font-weight:600}
.cure+.cure{border-top:1px solid var(--line);padding-top:12px;margin-top:6px}
pre{margin:6px 0 8px;background:var(--code);border-radius:8px;padding:10px 12px;overflow-x:auto;user-select:all}
pre code{background:none;padding:0;overflow-wrap:normal;white-space:pre}
footer{color:var(--dim);font-size:.8125rem;padding:4px;overflow-wrap:anywhere}
@media (max-width:720px){.strip{grid-template-columns:repeat(2,minmax(0,1fr))}header{padding:16px 12px;gap:12px}
header .sign{width:40px;height:40px}h1{font-size:1.25rem}main{padding:10px;gap:12px}section{padding:14px 12px}
.device{grid-template-columns:70px minmax(0,1fr)}.device small{grid-column:2;margin-top:-6px;color:var(--dim)}}
@media (min-width:900px){li{display:grid;grid-template-columns:210px minmax(0,1fr);gap:0 14px}.sides{margin:0 0 4px}}
@media print{body{background:#fff}.card,section,header{break-inside:avoid}}
"""  # noqa: E501
