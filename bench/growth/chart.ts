/**
 * One chart of how costs grow with the size of a mirror, as SVG. Both axes are logarithmic, so what grows in proportion rises by a
 * decade with each decade of messages.
 */
import { scaleLog } from 'd3-scale'
import { line } from 'd3-shape'

/** `values`: one for each size. */
export type Growth = { readonly name: string; readonly unit: string; readonly values: readonly number[] }

const [width, height] = [860, 430] as const
const plot = { left: 66, right: 600, top: 16, bottom: 386 } as const
const colours = ['#2a6fdb', '#c2410c', '#15803d', '#9333ea', '#b45309', '#0e7490']

/** `sizes`: messages, ascending. */
export function growthChart(sizes: readonly number[], growths: readonly Growth[]): string {
  const values = growths.flatMap((growth) => growth.values)
  const x = scaleLog([sizes[0] ?? 1, sizes.at(-1) ?? 10], [plot.left, plot.right])
  const y = scaleLog([Math.min(...values), Math.max(...values)], [plot.bottom, plot.top]).nice()
  const decades = y.ticks().filter((tick) => Number.isInteger(Math.log10(tick)))
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="${describe(sizes, growths)}">
<style>text{font:13px system-ui,sans-serif;fill:#1f2328}.grid{stroke:#d0d7de}.line{fill:none;stroke-width:2}
@media (prefers-color-scheme:dark){text{fill:#e6edf3}.grid{stroke:#3d444d}}</style>
${decades.map((tick) => `<path class="grid" d="M${plot.left} ${at(y(tick))}H${plot.right}"/><text x="${plot.left - 8}" y="${at(y(tick) + 4)}" text-anchor="end">${tick.toLocaleString('en-US')}</text>`).join('\n')}
${sizes.map((size) => `<path class="grid" d="M${at(x(size))} ${plot.top}V${plot.bottom}"/><text x="${at(x(size))}" y="${plot.bottom + 20}" text-anchor="middle">${size.toLocaleString('en-US')}</text>`).join('\n')}
<text x="${(plot.left + plot.right) / 2}" y="${height - 6}" text-anchor="middle">messages in the mirror</text>
${drawLines(sizes, growths, x, y)}
</svg>
`
}

function drawLines(
  sizes: readonly number[],
  growths: readonly Growth[],
  x: (size: number) => number,
  y: (value: number) => number,
): string {
  const draw = line<number>()
    .x((_, n) => x(sizes[n] ?? 1))
    .y((value) => y(value))
    .digits(1)
  const labels = spread(growths.map(({ values }) => y(values.at(-1) ?? 1)))
  return growths
    .map(({ name, unit, values }, n) => {
      const colour = colours[n % colours.length]
      const [first = 0, last = 0] = [values[0], values.at(-1)]
      return `<path class="line" stroke="${colour}" d="${draw(values)}"/>
<text x="${plot.right + 10}" y="${at((labels[n] ?? 0) + 4)}" style="fill:${colour}">${name}: ${short(first)} – ${short(last)} ${unit}</text>`
    })
    .join('\n')
}

/** Moves labels apart that would cover each other. */
function spread(places: readonly number[]): readonly number[] {
  const order = places.map((place, n) => ({ place, n })).sort((a, b) => a.place - b.place)
  const moved = [...places]
  let free = 0
  for (const { place, n } of order) {
    moved[n] = Math.max(place, free)
    free = (moved[n] ?? 0) + 17
  }
  return moved
}

function describe(sizes: readonly number[], growths: readonly Growth[]): string {
  const spans = growths.map(({ name, unit, values }) => `${name} ${values.map(short).join(', ')} ${unit}`)
  return `At ${sizes.map((size) => size.toLocaleString('en-US')).join(', ')} messages: ${spans.join('; ')}`
}

function short(value: number): string {
  return value.toLocaleString('en-US', { maximumSignificantDigits: 2 })
}

function at(place: number): string {
  return place.toFixed(1)
}
