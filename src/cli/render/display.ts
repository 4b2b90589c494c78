/** Progress on standard error: redrawn in place on a terminal, an occasional line elsewhere, nothing when quiet. */
import type { SyncProgress } from '../../mirror/mirror.ts'
import type { BudgetView } from '../../service/core/budget.ts'
import type { EpochMs, Ms } from '../../values/time.ts'
import type { Progress } from './progress.ts'
import { progressSummary, streamProgressRow } from './progress.ts'
import { alignColumns } from './table.ts'

export type Display = {
  readonly kind: 'terminal' | 'plain' | 'quiet'
  readonly onProgress: (progress: SyncProgress) => void
  readonly onBudget: (budget: BudgetView) => void
  /** Single-line progress; each line replaces the one before. */
  readonly onLine: (line: string) => void
  /** Writes permanent lines above the redrawn ones. */
  readonly writeAbove: (text: string) => void
  /** Prints a notice of one line. */
  readonly notify: (line: string) => void
  /** Removes the redrawn lines and resets the streams, for the next project. */
  readonly clear: () => void
}

type OutputStream = NodeJS.WriteStream & { readonly fd: 2 }
type Clock = () => EpochMs

const redrawMs: Ms = 100
const lineMs: Ms = 5000

export const emptyProgress: Progress = { streams: new Map(), budget: null }

export function afterProgress(progress: Progress, latest: SyncProgress, now: EpochMs): Progress {
  const since = progress.streams.get(latest.stream)?.since ?? now
  return { ...progress, streams: new Map(progress.streams).set(latest.stream, { ...latest, since, updatedAt: now }) }
}

export function openDisplay(out: OutputStream, quiet: boolean, clock: Clock): Display {
  const display = quiet ? quietDisplay(out) : out.isTTY ? terminalDisplay(out, clock) : plainDisplay(out, clock)
  return { ...display, notify: (line) => display.writeAbove(`deskmirror: ${line}\n`) }
}

function quietDisplay(out: OutputStream): Omit<Display, 'notify'> {
  const nothing = () => {}
  const writeAbove = (text: string) => void out.write(text)
  return { kind: 'quiet', onProgress: nothing, onBudget: nothing, onLine: nothing, clear: nothing, writeAbove }
}

/** At most one redraw in 100 ms; the last state of a burst is always drawn. */
function terminalDisplay(stream: OutputStream, clock: Clock): Omit<Display, 'notify'> {
  let progress = emptyProgress
  let line: string | null = null
  let timer: NodeJS.Timeout | undefined
  // Most commands draw nothing, and it takes as long to load as they take to answer.
  let update: ReturnType<typeof import('log-update').createLogUpdate> | undefined
  const draw = async () => {
    const { createLogUpdate } = await import('log-update')
    if (timer === undefined) return
    timer = undefined
    update ??= createLogUpdate(stream, { showCursor: true })
    update(line === null ? renderProgress(progress, clock()).join('\n') : `  ${line}`)
  }
  const changed = (next: Progress) => {
    progress = next
    timer ??= setTimeout(() => void draw(), redrawMs).unref()
  }
  return {
    kind: 'terminal',
    onProgress: (latest) => changed(afterProgress(progress, latest, clock())),
    onBudget: (budget) => changed({ ...progress, budget }),
    onLine: (next) => {
      line = next
      changed(progress)
    },
    writeAbove: (text) => {
      update?.clear()
      stream.write(text)
    },
    clear: () => {
      clearTimeout(timer)
      timer = undefined
      progress = emptyProgress
      line = null
      update?.clear()
    },
  }
}

function renderProgress(progress: Progress, now: EpochMs): string[] {
  const streams = [...progress.streams.values()].map((stream) => streamProgressRow(stream, now))
  return streams.length === 0 ? [] : [...alignColumns(streams, '  '), `  ${progressSummary(progress, now)}`]
}

/** Prints a stream's line when it ends, and every few seconds while it runs. */
function plainDisplay(out: OutputStream, clock: Clock): Omit<Display, 'notify'> {
  let progress = emptyProgress
  let lastAt = clock()
  const writeLine = (line: string) => {
    lastAt = clock()
    out.write(`${line}\n`)
  }
  return {
    kind: 'plain',
    onProgress: (latest) => {
      const before = progress.streams.get(latest.stream)?.state
      const now = clock()
      progress = afterProgress(progress, latest, now)
      const stream = progress.streams.get(latest.stream)
      const ended = latest.state !== 'running' && before !== latest.state
      if (stream === undefined || !(ended || now - lastAt >= lineMs)) return
      const cells = streamProgressRow(stream, now).filter((cell) => cell !== '')
      const overall = stream.state === 'running' ? [progressSummary(progress, now)] : []
      writeLine([...cells, ...overall].join('   ').trimEnd())
    },
    onBudget: (budget) => {
      progress = { ...progress, budget }
    },
    onLine: (line) => {
      if (clock() - lastAt >= lineMs) writeLine(line)
    },
    writeAbove: (text) => void out.write(text),
    clear: () => {
      progress = emptyProgress
    },
  }
}

/** Shows a progress and the budget as one line, whichever of them changes. */
export function createProgressLine<Value>(
  display: Display,
  first: Value,
  render: (progress: Value, budget: BudgetView | null) => string,
) {
  let [progress, budget]: [Value, BudgetView | null] = [first, null]
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
