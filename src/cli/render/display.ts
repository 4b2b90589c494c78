/** Progress on standard error: a line that is rewritten on a terminal, one at times elsewhere. */
import type { StreamName } from '../../../schema/stream-specs.ts'
import type { SyncProgress } from '../../mirror/mirror.ts'
import type { BudgetView } from '../../service/core/budget.ts'
import type { EpochMs, Ms } from '../../values/time.ts'
import { renderSyncProgress } from './progress.ts'
import { cutAt } from './table.ts'

export type Display = {
  readonly kind: 'terminal' | 'plain' | 'quiet'
  /** Each line replaces the one before. */
  readonly onLine: (line: string) => void
  /** Writes permanent lines above it. */
  readonly writeAbove: (text: string) => void
  readonly notify: (line: string) => void
  readonly clear: () => void
}

const lineEveryMs: Readonly<Record<Display['kind'], Ms>> = {
  terminal: 100,
  plain: 5000,
  quiet: Infinity,
}

const erase = '\r\u001b[K'
/** Some letters are wide: a line that is longer than it seems ends at the terminal's edge. */
const withoutWrapping = (line: string) => `\u001b[?7l${line}\u001b[?7h`

export function openDisplay(
  out: NodeJS.WriteStream & { readonly fd: 2 },
  quiet: boolean,
  clock: () => EpochMs,
): Display {
  const kind = quiet ? 'quiet' : out.isTTY ? 'terminal' : 'plain'
  let shown = ''
  let shownAt = kind === 'terminal' ? -Infinity : clock()
  const writeAbove = (text: string) =>
    void out.write(shown === '' ? text : `${erase}${text}${withoutWrapping(shown)}`)
  return {
    kind,
    onLine: (line) => {
      if (clock() - shownAt < lineEveryMs[kind]) return
      shownAt = clock()
      if (kind === 'terminal') shown = cutAt((out.columns || 80) - 1, `  ${line}`)
      out.write(kind === 'terminal' ? `${erase}${withoutWrapping(shown)}` : `${line}\n`)
    },
    writeAbove,
    notify: (line) => writeAbove(`deskmirror: ${line}\n`),
    clear: () => {
      if (shown !== '') out.write(erase)
      shown = ''
    },
  }
}

/** Shows a progress and the budget, whichever of them changes. */
export function createProgressLine<Value>(
  display: Display,
  first: Value,
  render: (progress: Value, budget: BudgetView | null) => string,
) {
  let progress = first
  let budget: BudgetView | null = null
  return {
    onProgress: (latest: Value) => {
      progress = latest
      display.onLine(render(progress, budget))
    },
    onBudget: (view: BudgetView) => {
      budget = view
      display.onLine(render(progress, budget))
    },
  }
}

/** Of all streams together. */
export function createSyncLine(display: Display, now: () => EpochMs) {
  const since = now()
  const streams = new Map<StreamName, SyncProgress>()
  const line = createProgressLine(display, streams, (_, budget) =>
    renderSyncProgress([...streams.values()], budget, now() - since),
  )
  return {
    ...line,
    onProgress: (latest: SyncProgress) => line.onProgress(streams.set(latest.stream, latest)),
  }
}
