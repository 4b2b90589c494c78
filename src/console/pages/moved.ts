/** The answer to a decision whose rows have changed since they were shown: what differs, and where to look again. */

import { table } from '../../document/table.ts'
import type { SelectionMismatch } from '../../outbox/core/batches.ts'
import type { DecisionName } from '../../outbox/core/decisions.ts'
import { path } from '../../values/address.ts'
import { pluralize } from '../../values/format.ts'
import { html } from '../../values/html.ts'
import { section } from '../blocks.ts'
import type { Page, ProjectFrame } from '../page.ts'
import { foreignText, timeOf } from '../text.ts'
import { statusWords } from '../writeback-words.ts'
import { countsText } from './writebacks.ts'

type MovedView = { readonly decision: DecisionName; readonly mismatch: SelectionMismatch; readonly back: string }

export function movedPage({ mismatch, back }: MovedView, frame: ProjectFrame): Page {
  const { now, counts, steps } = mismatch
  const content = html`<p class="problem">Nothing was changed: what you were shown is not what is there now.</p>
<p>Now this is about ${pluralize(now.count, 'write-back')}. All of the selection: ${countsText(counts)}.</p>
<p><a class="button primary" href="${back}">Look again</a></p>
${section(
  'The latest steps',
  table({
    caption: 'The latest steps of these write-backs, the newest first',
    columns: [{ title: 'When' }, { title: 'Write-back' }, { title: 'Step' }, { title: 'Who' }, { title: 'Why' }],
    rows: steps.map(({ at, writebackId, from, to, person, detail }) => [
      timeOf(at, frame),
      html`<a href="${path`/console/p/${frame.project}/writebacks/${writebackId}`}"><bdi>${writebackId}</bdi></a>`,
      from === null || from === to ? statusWords[to].word : `${statusWords[from].word} → ${statusWords[to].word}`,
      foreignText(person),
      foreignText(detail),
    ]),
    empty: 'No step of them is known: rows were added to the batch or left it.',
  }),
)}`
  return { title: 'This has changed', section: 'Write-backs', content }
}
