/** What the service turned out to do and to send: behaviours with their evidence, webhooks, undocumented fields. */

import { table } from '../../document/table.ts'
import { formatCount } from '../../values/format.ts'
import { html } from '../../values/html.ts'
import { section } from '../blocks.ts'
import type { SchemaData, ServiceData } from '../core/data.ts'
import type { Page, ProjectFrame } from '../page.ts'
import { ago, foreignText } from '../text.ts'
import { streamTitle } from './streams.ts'

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

/** Undocumented fields of the service, and how many of the newest rows still have them. */
export function schemaPage({ fields, sampled }: SchemaData, frame: ProjectFrame): Page {
  const content = html`<p class="faint">Fields that the documentation of the service does not have, the newest first. Filled: in the newest ${formatCount(sampled)} rows of the stream.</p>
${table({
  caption: 'Discovered fields',
  columns: [
    { title: 'Stream' },
    { title: 'Field' },
    { title: 'Column' },
    { title: 'Type' },
    { title: 'First seen' },
    { title: 'Filled', isNumber: true },
  ],
  rows: fields.map(({ stream, path, column, type, firstSeen, filled }) => [
    streamTitle(stream),
    foreignText(path),
    column === null ? 'only in raw' : foreignText(column),
    type,
    ago(firstSeen, frame),
    filled === null
      ? '–'
      : filled === 0
        ? html`<span class="problem">0 %: no longer sent?</span>`
        : `${Math.max(1, Math.round(filled * 100))} %`,
  ]),
  empty: 'The service has sent no undocumented field.',
})}`
  return { title: 'Schema', section: 'Schema', content }
}
