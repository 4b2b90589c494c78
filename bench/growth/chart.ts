/**
 * One chart of how costs grow with the size of a mirror, as SVG: each line shows how many times its
 * value at the smallest size a cost has, so that costs of all units can be compared. Both axes are
 * logarithmic: what grows in proportion is a diagonal.
 */
import { type ScaleLogarithmic, scaleLog } from 'd3-scale'
import { line } from 'd3-shape'

/** `values`: one for each size. */
export type Growth = {
  readonly name: string
  readonly unit: string
  readonly values: readonly number[]
}

const [width, height] = [920, 470] as const
const plot = { left: 64, right: 560, top: 76, bottom: 408 } as const
const labelsLeft = plot.right + 22
/** Lines of a label, and of the next one below. */
const labelHeight = 42
const colours = ['#2f81f7', '#0969da', '#1b7c83', '#d1242f', '#bc4c00', '#9a6700']

/** `sizes`: messages, ascending. */
export function growthChart(sizes: readonly number[], growths: readonly Growth[]): string {
  const most = Math.max(...sizes.map((size) => size / (sizes[0] ?? size)))
  const x = scaleLog([sizes[0] ?? 1, sizes.at(-1) ?? 10], [plot.left, plot.right])
  const y = scaleLog([0.5, most * 1.4], [plot.bottom, plot.top])
  const decades = y.ticks().filter((tick) => Number.isInteger(Math.log10(tick)) && tick >= 1)
  const middle = (plot.left + plot.right) / 2
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="${describe(sizes, growths)}">
<style>text{font:13px system-ui,sans-serif;fill:#1f2328}.title{font-size:17px;font-weight:600}.note,.unit{fill:#59636e}.name{font-weight:600}.grid{stroke:#d0d7de}.proportion{fill:none;stroke:#818b98;stroke-dasharray:5 5}.line{fill:none;stroke-width:2.5}
@media (prefers-color-scheme:dark){text{fill:#e6edf3}.note,.unit{fill:#9198a1}.grid{stroke:#3d444d}}</style>
<text class="title" x="16" y="26">What grows with the mirror, and what does not</text>
<text class="note" x="16" y="48">A first sync, then a sync with nothing new. Each line: how many times its value at ${word(sizes[0] ?? 0)} messages.</text>
${decades.map((tick) => `<path class="grid" d="M${plot.left} ${at(y(tick))}H${plot.right}"/><text x="${plot.left - 10}" y="${at(y(tick) + 4)}" text-anchor="end">${tick.toLocaleString('en-US')} ×</text>`).join('\n')}
${sizes.map((size) => `<path class="grid" d="M${at(x(size))} ${plot.top}V${plot.bottom}"/><text x="${at(x(size))}" y="${plot.bottom + 22}" text-anchor="middle">${word(size)}</text>`).join('\n')}
<text class="note" x="${middle}" y="${plot.bottom + 46}" text-anchor="middle">messages in the mirror (both axes are logarithmic)</text>
${proportion(sizes, x, y)}
${drawLines(sizes, growths, x, y)}
</svg>
`
}

type Scale = ScaleLogarithmic<number, number>

/** Where a cost would be that grows in proportion to the messages. */
function proportion(sizes: readonly number[], x: Scale, y: Scale): string {
  const [first = 1, last = 1] = [sizes[0], sizes.at(-1)]
  const [fromX, fromY, toX, toY] = [x(first), y(1), x(last), y(last / first)]
  const angle = (Math.atan2(toY - fromY, toX - fromX) * 180) / Math.PI
  const [textX, textY] = [fromX + (toX - fromX) * 0.3, fromY + (toY - fromY) * 0.3 - 10]
  return `<path class="proportion" d="M${at(fromX)} ${at(fromY)}L${at(toX)} ${at(toY)}"/>
<text class="note" x="${at(textX)}" y="${at(textY)}" transform="rotate(${at(angle)} ${at(textX)} ${at(textY)})" text-anchor="middle">in proportion to the messages</text>`
}

function drawLines(
  sizes: readonly number[],
  growths: readonly Growth[],
  x: Scale,
  y: Scale,
): string {
  const lines = growths.map(({ values }) => values.map((value) => y(value / (values[0] ?? 1))))
  const labels = spread(lines.map((places) => places.at(-1) ?? 0))
  const draw = line<number>()
    .x((_, n) => x(sizes[n] ?? 1))
    .y((place) => place)
    .digits(1)
  return growths
    .map(({ name, unit, values }, n) => {
      const colour = colours[n % colours.length]
      const places = lines[n] ?? []
      const label = labels[n] ?? 0
      const dots = places.map(
        (place, index) =>
          `<circle cx="${at(x(sizes[index] ?? 1))}" cy="${at(place)}" r="3.5" fill="${colour}"/>`,
      )
      return `<path class="line" stroke="${colour}" d="${draw(places)}"/>${dots.join('')}
<path stroke="${colour}" fill="none" d="M${plot.right + 5} ${at(places.at(-1) ?? 0)}L${labelsLeft - 5} ${at(label - 4)}"/>
<text class="name" x="${labelsLeft}" y="${at(label)}" style="fill:${colour}">${name}: ${times(values)}</text>
<text class="unit" x="${labelsLeft}" y="${at(label + 17)}">${values.map(short).join(' – ')} ${unit}</text>`
    })
    .join('\n')
}

/** Moves labels apart that would cover each other, within the height of the plot. */
function spread(places: readonly number[]): readonly number[] {
  const order = places.map((place, n) => ({ place, n })).sort((a, b) => a.place - b.place)
  const moved = [...places]
  let free: number = plot.top
  for (const [index, { place, n }] of order.entries()) {
    const latest = plot.bottom - (order.length - index) * labelHeight + 20
    moved[n] = Math.max(free, Math.min(place, latest))
    free = (moved[n] ?? 0) + labelHeight
  }
  return moved
}

function describe(sizes: readonly number[], growths: readonly Growth[]): string {
  const spans = growths.map(
    ({ name, unit, values }) => `${name} ${values.map(short).join(', ')} ${unit}`,
  )
  return `At ${sizes.map((size) => size.toLocaleString('en-US')).join(', ')} messages: ${spans.join('; ')}`
}

function times(values: readonly number[]): string {
  return `${short((values.at(-1) ?? 0) / (values[0] ?? 1))} ×`
}

function word(size: number): string {
  return size < 1e6 ? size.toLocaleString('en-US') : `${size / 1e6} million`
}

function short(value: number): string {
  return value.toLocaleString('en-US', { maximumSignificantDigits: value >= 100 ? 3 : 2 })
}

function at(place: number): string {
  return place.toFixed(1)
}
