/**
 * One self-contained HTML file around a page: without scripts, and without requests to anywhere.
 */
import { type Html, html, trusted } from '../values/html.ts'

/** Should any text ever get past the escaping, a browser still runs and loads nothing. */
const policy = "default-src 'none'; style-src 'unsafe-inline'"

export function documentHead(title: string): Html {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>${title}</title>
${styleElement}
</head>
<body>
<main>
`
}

export const documentFoot = `</main>
</body>
</html>
`

/** Light or dark as the reader's system is, and readable on paper. */
const style = `
:root { color-scheme: light dark; --text: #1b1f24; --faint: #57606a; --line: #d0d7de; --page: #ffffff; --chart: #1f6feb;
  --second: #9a6700 }
@media (prefers-color-scheme: dark) {
  :root { --text: #e6edf3; --faint: #9da7b3; --line: #3d444d; --page: #0d1117; --chart: #58a6ff; --second: #d29922 }
}
body { margin: 0 auto; padding: 1.5rem; max-width: 60rem; background: var(--page); color: var(--text);
  font: 15px/1.45 system-ui, sans-serif }
h1 { font-size: 1.5rem } h2 { font-size: 1.2rem; margin-top: 2rem } h1, h2, h3 { line-height: 1.2 }
.notes { color: var(--faint) }
.scroll { overflow-x: auto }
table { border-collapse: collapse; width: 100%; margin: 0.5rem 0 1rem; font-variant-numeric: tabular-nums }
caption { text-align: left; color: var(--faint); padding: 0.25rem 0 }
th, td { text-align: left; padding: 0.25rem 0.6rem 0.25rem 0; border-bottom: 1px solid var(--line);
  overflow-wrap: anywhere; vertical-align: top }
th.number, td.number { text-align: right; overflow-wrap: normal }
th { font-weight: 600 } tbody th { font-weight: 400 }
figure { margin: 1rem 0 } figcaption { font-weight: 600 }
summary { color: var(--faint); cursor: pointer }
.legend { display: flex; flex-wrap: wrap; gap: 0.3rem 0.8rem; padding: 0; margin: 0.3rem 0; list-style: none }
.legend svg { width: 0.8em; height: 0.8em }
.chart { box-sizing: border-box; width: 100%; padding: 2rem 1rem 2.2rem 3.2rem } .chart, .chart svg { overflow: visible }
.chart.heat { min-width: 36rem; padding-block: 0.8rem 1.8rem }
.chart text { fill: var(--text); font-size: 12px } .middle { text-anchor: middle } .end { text-anchor: end }
.grid { stroke: var(--line) } .unfinished { fill: var(--page); opacity: 0.6 } .first, .cell { --series: var(--chart) }
.second { --series: var(--second) } rect:is(.first, .second, .cell), .dot { fill: var(--series) }
.cell { stroke: var(--page) } .line { fill: none; stroke: var(--series); stroke-width: 2; vector-effect: non-scaling-stroke }
.line.second { stroke-dasharray: 6 4 }
@media (max-width: 40rem) { .ticks:has(:nth-child(5)) :nth-child(even) { display: none } }
@media print {
  :root { color-scheme: light; --text: #000000; --faint: #444444; --line: #bbbbbb; --page: #ffffff; --chart: #1f6feb;
    --second: #9a6700 }
  body { padding: 0; max-width: none; font-size: 11px }
  section, figure, tr { break-inside: avoid } article + article { break-before: page } h2 { break-after: avoid }
  .chart { min-width: 0; print-color-adjust: exact } summary { display: none }
}
`

const styleElement = trusted(`<style>${style}</style>`)
