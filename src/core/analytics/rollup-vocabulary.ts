/** The words of a project's rows that make candidates differ: origins, sender types, results of calls. */
import type { RollupCounts } from './rollup-events.ts'
import type { MirrorVocabulary } from './rollup-measures.ts'

/** Columns with times, of tables whose fields the service does not document. */
export type TimeColumns = Pick<MirrorVocabulary, 'visitorTimes' | 'callTimes'>

/** The most frequent ones: a hostile service may have any number of them, and each makes hundreds of candidates. */
const maxWords = 8
const maxLength = 60

/** `origins`: how many conversations have each. */
export function vocabularyOf(
  counts: RollupCounts,
  origins: Iterable<readonly [origin: string | null, count: number]>,
  columns: TimeColumns,
  zones: readonly string[],
): MirrorVocabulary {
  return {
    ...columns,
    zones,
    origins: frequentWords(origins),
    senderTypes: frequentWords(counts.messages.map(({ senderType, count }) => [senderType, count])),
    callStatuses: frequentWords(counts.calls.map(({ status, count }) => [status, count])),
  }
}

function frequentWords(words: Iterable<readonly [word: string | null, count: number]>): string[] {
  const counts = new Map<string, number>()
  for (const [word, count] of words)
    if (word !== null && word.length <= maxLength) counts.set(word, (counts.get(word) ?? 0) + count)
  const frequent = [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).slice(0, maxWords)
  return frequent.map(([word]) => word)
}
