/** A trace for people: when, by the world's own clock, who, and what happened. */
import type { TraceLine } from './scheduler.ts'

export function formatTrace(trace: readonly TraceLine[]): string {
  const line = ({ at, who, what }: TraceLine) =>
    `${(at / 1000).toFixed(3).padStart(9)} s  ${who.padEnd(10)} ${what}`
  return trace.map(line).join('\n')
}
