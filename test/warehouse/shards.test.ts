/** Which databases the projects of a configuration have. Worker and commands over several: `test/app/worker/shards.test.ts`. */
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { WarehouseError } from '../../src/warehouse/database/explain-error.ts'
import { databaseUrls } from '../../src/warehouse/databases.ts'
import type { Warehouse } from '../../src/warehouse/open.ts'
import { createAvailability } from '../../src/warehouse/shard-availability.ts'
import { createTempFolder } from '../support/temp-folder.ts'

const urlsOf = (...others: readonly (string | null)[]) =>
  databaseUrls({
    databaseUrl: 'sqlite:a.db',
    projects: others.map((databaseUrl, n) => ({ projectId: `p${n}`, databaseUrl })),
  })

test('the first database comes first, and each once', () => {
  expect(urlsOf('sqlite:b.db', null, 'sqlite:c.db', 'sqlite:b.db')).toEqual([
    'sqlite:a.db',
    'sqlite:b.db',
    'sqlite:c.db',
  ])
})

test('also behind a link, whether or not the file exists yet', () => {
  const folder = createTempFolder(onTestFinished)
  mkdirSync(join(folder, 'real'))
  symlinkSync(join(folder, 'real'), join(folder, 'link'))
  const urls = (real: string, link: string) =>
    databaseUrls({ databaseUrl: `sqlite:${real}`, projects: [{ projectId: 'p', databaseUrl: `sqlite:${link}` }] })
  const [real, link] = [join(folder, 'real', 'a.db'), join(folder, 'link', 'a.db')]
  expect(urls(real, link)).toEqual([`sqlite:${real}`])
  writeFileSync(real, '')
  symlinkSync(real, join(folder, 'b.db'))
  expect(urls(real, join(folder, 'b.db'))).toEqual([`sqlite:${real}`])
})

describe('of several databases', () => {
  const warehouse = {} as Warehouse
  const other = {} as Warehouse
  const unavailable = new WarehouseError(
    'cannot use it',
    { why: 'gone', next: '', exitCode: 1 },
    'unavailable',
    '57P01',
  )
  const answer = (one: unknown) => async (asked: Warehouse) => {
    if (asked === other && one instanceof Error) throw one
    return asked === other ? one : 'here'
  }

  test('those that are away are left out until they answer again', async () => {
    const { askEach, isAway } = createAvailability([warehouse, other])
    expect(await askEach(answer(unavailable))).toEqual([{ warehouse, value: 'here' }])
    expect([isAway(warehouse), isAway(other)]).toEqual([false, true])
    expect(await askEach(answer('there'))).toHaveLength(2)
    expect(isAway(other)).toBe(false)
  })

  test('one that fails for another reason is a failure of all, and so are all that are away', async () => {
    const { askEach } = createAvailability([warehouse, other])
    await expect(askEach(answer(new Error('a bug')))).rejects.toThrow('a bug')
    await expect(createAvailability([other]).askEach(answer(unavailable))).rejects.toBe(unavailable)
  })
})

test('however its path is written', () => {
  expect(urlsOf('sqlite:./a.db', `sqlite:${resolve('a.db')}`, `sqlite://${resolve('a.db')}`)).toEqual(['sqlite:a.db'])
})
