/** Whose turn it is among processes that share a budget: the more urgent lane first, within a lane whoever asked first. */
import type { EpochMs } from '../time.ts'

/**
 * A process that was told to wait, and for which lane (0 = the most urgent). Nobody behind it is served before it comes
 * back; it counts no longer once `until` is over, so that a process that died holds up nobody.
 */
export type Turn = { readonly holder: string; readonly lane: number; readonly since: EpochMs; readonly until: EpochMs }

export function liveTurns(turns: readonly Turn[], now: EpochMs): readonly Turn[] {
  return turns.some((turn) => turn.until <= now) ? turns.filter((turn) => turn.until > now) : turns
}

/** The process waits for this lane, from now on or still. */
export function waitTurn(turns: readonly Turn[], who: Omit<Turn, 'since'>, now: EpochMs): readonly Turn[] {
  const since = sinceOf(turns, who.holder, who.lane) ?? now
  return [...endTurn(turns, who.holder), { ...who, since }]
}

/** The process was served, or waits for nothing that others need. */
export function endTurn(turns: readonly Turn[], holder: string): readonly Turn[] {
  return turns.some((turn) => turn.holder === holder) ? turns.filter((turn) => turn.holder !== holder) : turns
}

/** Whether another process waits for something more urgent, or as urgent and longer. */
export function isBehind(turns: readonly Turn[], holder: string, lane: number, now: EpochMs): boolean {
  const since = sinceOf(turns, holder, lane) ?? now
  return turns.some(
    (turn) => turn.holder !== holder && (turn.lane < lane || (turn.lane === lane && turn.since < since)),
  )
}

function sinceOf(turns: readonly Turn[], holder: string, lane: number): EpochMs | undefined {
  return turns.find((turn) => turn.holder === holder && turn.lane === lane)?.since
}
