/** Compares what the rows of a batch did with what checks with the service had shown before they were sent. */
import type { OutboxAdmin } from '../../core/outbox/admin.ts'
import { type CheckedOutcomes, type Deviation, findDeviation } from '../../core/outbox/deviation.ts'
import type { ReviewReader } from '../../core/outbox/review-reader.ts'
import { nameEntries } from '../name-entries.ts'

const rowsPerRead = 200
const maxSamples = 20

export async function compareWithChecks(
  admin: Pick<OutboxAdmin, 'list'>,
  reader: Pick<ReviewReader, 'listChecked' | 'readTargets'>,
  batch: string,
): Promise<CheckedOutcomes> {
  const first = new Map<string, Deviation>()
  let [rows, differing] = [0, 0]
  for (let after = 0; ; ) {
    const page = await reader.listChecked(batch, after, rowsPerRead)
    const last = page.at(-1)
    if (last === undefined) break
    for (const row of page) {
      const deviation = findDeviation(row)
      if (deviation === null) continue
      differing += 1
      if (first.size < maxSamples) first.set(row.id, deviation)
    }
    rows += page.length
    after = last.seq
  }
  const entries = first.size === 0 ? [] : await admin.list({ ids: [...first.keys()] }, maxSamples)
  const samples = (await nameEntries(reader, entries)).flatMap((writeback) => {
    const deviation = first.get(writeback.id)
    return deviation === undefined ? [] : [{ writeback, deviation }]
  })
  return { rows, differing, samples }
}
