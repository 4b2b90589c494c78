/** Undocumented fields of the service, and how many of the newest rows still have them. */
import type { SchemaData } from '../../core/console/data.ts'
import { formatCount } from '../../core/format.ts'
import { html } from '../../core/html/html.ts'
import type { Page, ProjectFrame } from '../page.ts'
import { streamTitle } from '../stream-words.ts'
import { table } from '../table.ts'
import { foreignText } from '../text.ts'
import { ago } from '../time.ts'

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
