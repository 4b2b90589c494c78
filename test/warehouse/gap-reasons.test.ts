/** Gaps that an earlier version recorded with other texts. */
import { expect, test } from 'vitest'
import type { MirrorCommit } from '../../src/mirror/core/mirror.ts'
import { gapReasons } from '../../src/mirror/core/pagination/reading-state.ts'
import { databases } from '../support/databases.ts'
import { openTestWarehouse } from './test-warehouse.ts'

const earlierReasons = {
  unreachable: 'the service says that there is more, and no parameter leads there',
  unordered: 'the rows follow no time that they show, so that pages may not join',
  emptyWithMore: 'the service says that there is more, and shows none of it',
  discontiguous: 'a page shows no row of the one before it, so that rows between them may be missing',
  timestampCollision: gapReasons.timestampCollision,
  timeless: gapReasons.timeless,
  bounded: gapReasons.bounded,
  otherBound: gapReasons.otherBound,
}

/** Gaps with these reasons: without times, of a span, and of one parent with two reasons. */
function commitsWith({
  unreachable,
  discontiguous,
  ...others
}: Record<keyof typeof gapReasons, string>): MirrorCommit[] {
  const gaps = [...Object.values(others), unreachable].map((reason) => ({ from: null, to: null, reason }))
  const all = [...gaps, { from: 1_700_000_000, to: 1_700_000_100, reason: unreachable }]
  const childRead = { stream: 'messages', parentId: 'c1', requestedVersion: 1, cursor: null, dueAt: null } as const
  const why = `${unreachable}; ${discontiguous}`
  return [
    { stream: 'calls', rows: [], requestedAt: 1, gaps: all.map((gap) => ({ stream: 'calls', ...gap })) },
    { stream: 'messages', rows: [], requestedAt: 1, childRead: { ...childRead, completeness: 'incomplete', why } },
  ]
}

for (const db of databases) {
  test(`an upgrade rewords the reasons of gaps, and each open gap stays one gap (${db.name})`, async () => {
    const { database, warehouse, mirror, all } = await openTestWarehouse(db)
    const openGaps = () => all('select id, reason, subject from sync_gaps where resolved_at is null order by id')
    for (const commit of commitsWith(earlierReasons)) await mirror.commit(commit)
    const before = await openGaps()
    await warehouse.query("delete from sync_schema where name = '0012_gap_reasons'")
    expect((await database.open()).migration?.applied).toEqual(['0012_gap_reasons'])
    const reworded = await openGaps()
    expect(reworded.map(({ id }) => id)).toEqual(before.map(({ id }) => id))
    expect(JSON.stringify(reworded)).not.toMatch(/says that there is more|may not join|shows no row/)

    for (const commit of commitsWith(gapReasons)) await mirror.commit(commit)
    expect(await openGaps()).toEqual(reworded)
  })
}
