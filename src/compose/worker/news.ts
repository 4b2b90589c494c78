/** Whether a sentence says anything that was not said lately: what is so at each pass need not be told at each. */
import type { EpochMs, Ms } from '../../core/time.ts'

/** After so long it is worth saying again. */
const lately: Ms = 24 * 3_600_000
const mostKept = 1000

export function createNews(now: () => EpochMs = Date.now): (sentence: string) => boolean {
  const said = new Map<string, EpochMs>()
  return (sentence) => {
    const key = gist(sentence)
    const at = said.get(key)
    if (at !== undefined && now() - at < lately) return false
    if (said.size >= mostKept) said.clear()
    said.set(key, now())
    return true
  }
}

/** What is the same when something is said again: ids and numbers are not. */
export function gist(sentence: string): string {
  return sentence.slice(0, 500).replace(/[0-9a-f-]{8,}|\d+/gi, '#')
}
