/** What the service turned out to do, with the evidence, and its webhooks. */
import type { ServiceData } from '../../core/console/data.ts'
import { formatCount } from '../../core/format.ts'
import { html } from '../../core/html/html.ts'
import { section } from '../blocks.ts'
import type { Page, ProjectFrame } from '../page.ts'
import { table } from '../table.ts'
import { foreignText } from '../text.ts'
import { ago } from '../time.ts'

export function servicePage({ behaviours, deliveries }: ServiceData, frame: ProjectFrame): Page {
  const content = html`${section(
    'What it turned out to do',
    table({
      caption: 'Behaviours that the documentation leaves open',
      columns: [{ title: 'What' }, { title: 'Observed' }, { title: 'Evidence' }, { title: 'Since' }],
      rows: behaviours.map(({ name, value, evidence, learnedAt }) => [
        foreignText(name.replaceAll('_', ' ')),
        foreignText(value),
        foreignText(evidence),
        ago(learnedAt, frame),
      ]),
      empty: 'Nothing has been learned yet: the first sync does.',
    }),
  )}
${section(
  'Webhooks of the last 30 days',
  table({
    caption: 'Deliveries by what was read because of them',
    columns: [{ title: 'Read because of it' }, { title: 'Deliveries', isNumber: true }, { title: 'The last one' }],
    rows: deliveries.map(({ found, count, last }) => [foreignText(found), formatCount(count), ago(last, frame)]),
    empty: 'There were none.',
  }),
)}`
  return { title: 'Service', section: 'Service', content }
}
