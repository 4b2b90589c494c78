/** What a decision did, if it did not do all of what was asked: the rows that stayed, and why. */

import { table } from '../../document/table.ts'
import type { RevertReport } from '../../outbox/core/batches.ts'
import { type DecisionName, decisions } from '../../outbox/core/decisions.ts'
import type { DecisionReport } from '../../outbox/core/reports.ts'
import { operationTypes } from '../../outbox/core/writeback-request.ts'
import { path } from '../../values/address.ts'
import { formatCount, pluralize } from '../../values/format.ts'
import { type Html, html, nothing } from '../../values/html.ts'
import { section } from '../blocks.ts'
import type { Page, ProjectFrame } from '../page.ts'
import { foreignText } from '../text.ts'
import { statusWords } from '../writeback-words.ts'

type ResultView = {
  readonly decision: DecisionName
  readonly made: {
    readonly moved: number
    readonly stayed: DecisionReport['stayed']
    readonly inFlight: number
    readonly revert: RevertReport | null
  }
  readonly to: string
}

export function resultPage({ decision, made, to }: ResultView, frame: ProjectFrame): Page {
  const { moved, stayed, inFlight, revert } = made
  const content = html`<p><b>${formatCount(moved)} ${decisions[decision].made}.</b>${inFlight > 0 ? ` ${formatCount(inFlight)} in flight cannot be called back.` : ''}</p>
${stayed.length === 0 ? nothing : section('These stayed as they were', stayedTable(stayed))}
${revert === null ? nothing : notReverted(revert, frame)}
<p><a class="button primary" href="${to}">Go on</a></p>`
  return { title: moved === 0 ? 'Nothing was changed' : 'Done, but not all', section: 'Write-backs', content }
}

function stayedTable(stayed: DecisionReport['stayed']): Html {
  return table({
    caption: 'Rows that stayed as they were',
    columns: [{ title: 'Rows', isNumber: true }, { title: 'Status' }, { title: 'Why' }],
    rows: stayed.map(({ count, status, why }) => [count, statusWords[status].word, foreignText(why)]),
    empty: '',
  })
}

function notReverted({ notReverted: rows, counts }: RevertReport, frame: ProjectFrame): Html {
  if (rows.length === 0) return nothing
  const total = Object.values(counts).reduce((sum, count) => sum + count, 0)
  const groups = [...Map.groupBy(rows, ({ operation, why }) => `${operation} ${why}`).values()]
  const content = table({
    caption: 'Why rows are not taken back',
    columns: [{ title: 'Rows', isNumber: true }, { title: 'Why' }, { title: 'For example' }],
    rows: groups.flatMap((group) =>
      group
        .slice(0, 1)
        .map(({ id, operation, why }) => [
          group.length,
          foreignText(why),
          html`<a href="${path`/console/p/${frame.project}/writebacks/${id}`}">${operationTypes[operation].words[0]}</a>`,
        ]),
    ),
    empty: '',
  })
  const shown = rows.length < total ? `, of which these are the first ${formatCount(rows.length)}` : ''
  return section(`${pluralize(total, 'row')} ${total === 1 ? 'is' : 'are'} not taken back${shown}`, content)
}
