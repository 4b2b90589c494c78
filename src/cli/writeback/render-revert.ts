/** Renders what `revert` queued, and what cannot be taken back. */
import type { CommandHint } from '../../core/command-hint.ts'
import { formatCount, pluralize } from '../../core/format.ts'
import type { NotReverted, RevertReport } from '../../core/outbox/batches.ts'
import { shortId } from '../../core/outbox/describe-request.ts'
import { showInvisible } from '../../core/outbox/review-words.ts'
import { alignColumns } from '../render/table.ts'

const outcomeWords: Readonly<Record<NotReverted['outcome'], string>> = {
  stands_against: 'someone changed it since; it stays as it is',
  cannot: 'cannot be taken back',
  not_known: 'not known',
  already_so: 'nothing to take back',
}

const rowsShown = 5

export function renderRevert(
  { reverts, batch, queued, counts, notReverted }: RevertReport,
  hint: CommandHint,
): string[] {
  const outcomes = Object.keys(outcomeWords) as NotReverted['outcome'][]
  return [
    batch === null
      ? `nothing of ${reverts} can be taken back`
      : `${pluralize(queued, 'draft')} in ${batch} take back ${reverts}`,
    ...outcomes.flatMap((outcome) => renderOutcome(outcome, counts[outcome] ?? 0, notReverted)),
    ...(batch === null
      ? []
      : [
          `next: ${hint(`writeback batches show ${batch}`)} shows what would change`,
          `      ${hint(`writeback approve --batch ${batch}`)} sends it`,
        ]),
  ]
}

function renderOutcome(outcome: NotReverted['outcome'], count: number, all: RevertReport['notReverted']): string[] {
  if (count === 0) return []
  const samples = all.filter((row) => row.outcome === outcome).slice(0, rowsShown)
  const cells = samples.map(({ id, operation, target, visitorName, why }) => [
    shortId(id),
    operation,
    showInvisible(visitorName ?? target),
    showInvisible(why),
  ])
  const more = count - samples.length
  return [
    `${formatCount(count)} ${outcomeWords[outcome]}:`,
    ...alignColumns(cells, '  '),
    ...(more > 0 ? [`  … and ${formatCount(more)} more; --json lists up to a thousand`] : []),
  ]
}
