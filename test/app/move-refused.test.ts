/** What a move refuses, and what happens when one of the two warehouses is lost. */

import { copyFileSync, linkSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { DatabaseKind } from '../../schema/column-types.ts'
import { updateFence } from '../../schema/move-fence.ts'
import { acceptMoved } from '../../src/app/move.ts'
import { lockAsOnlyWorker } from '../../src/app/only-worker.ts'
import { openWarehouse } from '../../src/app/open.ts'
import { currentOwner } from '../../src/outbox/sql/claimable.ts'
import { performedWrites } from '../outbox/outbox-fixture.ts'
import { createTestOnOne } from '../support/sampled.ts'
import { emptyDatabase, fillWarehouse, log, programOn } from './move-fixture.ts'

const kinds: readonly DatabaseKind[] = ['sqlite', 'postgres']
const testOnOne = createTestOnOne()

test('onto itself, by whatever name', async () => {
  const fixture = await fillWarehouse('sqlite')
  const { move } = programOn(fixture)
  const path = fixture.instance.url.slice('sqlite:'.length)
  symlinkSync(path, `${path}-symbolic`)
  linkSync(path, `${path}-hard`)
  for (const name of [path, `${path}-symbolic`, `${path}-hard`])
    await expect(move(`sqlite:${path}`, `sqlite:${name}`)).rejects.toThrow(
      /names the warehouse itself/,
    )
  const server = await fillWarehouse('postgres')
  const alias = server.instance.url.replace('127.0.0.1', 'localhost')
  expect(alias).not.toBe(server.instance.url)
  await expect(programOn(server).move(server.instance.url, alias)).rejects.toThrow(/itself/)
})

for (const kind of kinds)
  testOnOne(kind, `while others use one of the two — ${kind}`, async () => {
    const fixture = await fillWarehouse(kind)
    const { move, change, sync } = programOn(fixture)
    const [from, to] = [fixture.instance.url, await emptyDatabase('sqlite')]
    const free = await lockAsOnlyWorker(from, fixture.warehouse, { log, onLost: () => {} })
    if (kind === 'sqlite') await expect(move(from, to)).rejects.toThrow(/uses it/)
    await free()
    const id = fixture.sandbox.projectId.toLowerCase()
    for (const erasing of [from, to]) {
      await change(erasing, `insert into erased_ids (project_id, id) values ('', '${id}')`)
      await expect(move(from, to)).rejects.toThrow(/its erasure in .* has not ended/)
      await change(erasing, 'delete from erased_ids')
    }
    await change(
      from,
      `update writebacks set owner = '${currentOwner()}', lease_until = ${Date.now() + 60_000}
      where status = 'queued'`,
    )
    await expect(move(from, to)).rejects.toThrow(/a process is sending the write-back/)
    await expect(sync(to)).rejects.toThrow(/still arriving/)
    // The one that was to move is as it was.
    expect(await sync(from)).toMatchObject({ outcome: 'complete' })
    await change(from, 'update writebacks set owner = null where owner is not null')
    expect(await move(from, to)).toMatchObject({ outcome: 'moved' })
    await expect(move(from, await emptyDatabase('sqlite'))).rejects.toThrow(/has moved to/)
    expect(await move(from, to)).toMatchObject({ outcome: 'moved', rows: 0 })
  })

test('an interrupted one goes on from where it was, with what was stored meanwhile', async () => {
  const fixture = await fillWarehouse('sqlite')
  const { move, sync, query, push } = programOn(fixture)
  const [from, to] = [fixture.instance.url, await emptyDatabase('postgres')]
  const stop = new AbortController()
  const onProgress = ({ table }: { readonly table: string }) => {
    if (table === 'writebacks') stop.abort()
  }
  const first = await move(from, to, { signal: stop.signal, onProgress })
  expect(first).toMatchObject({ outcome: 'interrupted' })
  await push(from)
  expect(await sync(from)).toMatchObject({ outcome: 'complete' })
  expect(await move(from, to)).toMatchObject({ outcome: 'moved' })
  for (const table of ['writebacks', 'writeback_events', 'message_rows'])
    expect(await query(to, `select count(*) as n from ${table}`)).toEqual(
      await query(from, `select count(*) as n from ${table}`),
    )
  const writes = performedWrites(fixture.sandbox).length
  await push(to)
  expect(performedWrites(fixture.sandbox)).toHaveLength(writes)
})

test('a backup of the source that is restored afterwards sends nothing', async () => {
  const fixture = await fillWarehouse('sqlite')
  const { move, push } = programOn(fixture)
  const path = fixture.instance.url.slice('sqlite:'.length)
  await fixture.warehouse.query(`vacuum into '${path}-backup'`)
  await move(fixture.instance.url, await emptyDatabase('sqlite'))
  await fixture.warehouse.close()
  for (const end of ['-wal', '-shm']) writeFileSync(`${path}${end}`, '')
  copyFileSync(`${path}-backup`, path)
  await expect(push(fixture.instance.url)).rejects.toThrow(/older than the last write-back/)
  expect(JSON.parse(readFileSync(`${path}-sends`, 'utf8'))).not.toEqual({})
})

for (const kind of kinds)
  testOnOne(kind, `the source is lost between the two marks — to ${kind}`, async () => {
    const fixture = await fillWarehouse('sqlite')
    const { move, sync, push, query } = programOn(fixture)
    const [from, to] = [fixture.instance.url, await emptyDatabase(kind)]
    await expect(acceptMoved({ to, project: null, log })).rejects.toThrow(/nothing is arriving/)
    await move(from, to)
    // As if it had been killed before its last step.
    const target = await openWarehouse(to)
    await target.query(
      `update sync_moves set state = 'arriving', verified_at = '2026-01-01T00:00:00Z'`,
    )
    await updateFence(target.query, kind)
    await target.close()
    await expect(sync(to)).rejects.toThrow(/still arriving/)
    expect(await acceptMoved({ to, project: null, log })).toMatchObject({ whole: true })
    expect(await sync(to)).toMatchObject({ outcome: 'complete' })
    await expect(push(to)).rejects.toThrow(/may have sent since/)
    expect((await query(to, 'select state from sync_moves')).map(({ state }) => state)).toEqual([
      'arrived',
      'arrived',
    ])
  })
