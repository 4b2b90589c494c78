/**
 * What an export selects: objects, columns and rows; what it says about names and values that do
 * not exist.
 */

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openMirror } from '../../src/app/facts.ts'
import type { Warehouse } from '../../src/app/open.ts'
import { findObjects } from '../../src/export/core/selection.ts'
import type { ExportRequest } from '../../src/export/export-objects.ts'
import type { UserError } from '../../src/values/user-error.ts'
import { databases } from '../support/databases.ts'
import { commit, message } from '../warehouse/row-fixtures.ts'
import { exportBytes, exportWith, hostileTexts, openWorld } from './export-world.ts'

type Limits = Partial<Omit<ExportRequest, 'objects' | 'format' | 'target'>>

for (const db of databases) {
  describe(db.name, () => {
    let warehouse: Warehouse
    beforeAll(async () => {
      warehouse = (await openWorld(db, afterAll)).warehouse
    })
    const values = async (object: string, column: string, limits: Limits = {}) => {
      const lines = (
        await exportBytes(warehouse, object, 'jsonl', { columns: [column], ...limits })
      ).toString()
      return lines
        .split('\n')
        .flatMap((line) => (line === '' ? [] : [JSON.parse(line)[column] as unknown]))
    }

    test('rows are in the order of the key', async () => {
      expect(await values('conversations', 'id')).toEqual(['c1', 'c2'])
      expect((await values('messages', 'id')).slice(0, 3)).toEqual([1, 2, 3])
    })

    test('since is included and until is not; a date begins at midnight UTC', async () => {
      const ids = (limits: Limits) =>
        values('messages', 'id', { ...limits, where: [{ column: 'conversation_id', value: 'c1' }] })
      expect(await ids({ since: '2026-01-01T01:00:00Z', until: '2026-01-01T03:00:00Z' })).toEqual([
        2, 3,
      ])
      expect(
        await ids({ since: '2026-01-01T03:00:00+02:00', until: '2026-01-01T03:00:00Z' }),
      ).toEqual([2, 3])
      expect(await ids({ since: '2026-01-02' })).toEqual([])
      expect(await ids({ until: '2026-01-01' })).toEqual([])
    })

    test('the time column is created_at, or the first time; another one can be named', async () => {
      const until = '2026-01-01T00:00:01Z'
      expect(await values('conversations', 'id', { until })).toEqual(['c1', 'c2'])
      expect(await values('conversations', 'id', { until, timeColumn: 'last_message_at' })).toEqual(
        [],
      )
      expect(await values('visitors', 'id', { since: '2026-01-31' })).toEqual(['v1'])
    })

    test('where compares with a value of the type of the column, or with no value', async () => {
      const where = (column: string, value: string | null): Limits => ({
        where: [{ column, value }],
      })
      expect(await values('messages', 'id', where('content', '=1+2'))).toEqual([7])
      expect(await values('messages', 'id', where('content', 'a NUL: \0.'))).toEqual([12])
      expect(await values('messages', 'id', where('content', null))).toEqual([
        hostileTexts.length + 1,
      ])
      expect(await values('messages', 'id', where('id', '4'))).toEqual([4])
      expect(await values('visitors', 'id', where('vip', 'true'))).toEqual(['v1'])
      expect(await values('visitors', 'id', where('plan__price', '9.50'))).toEqual(['v1'])
      expect(
        await values('conversations', 'id', where('handled_at', '2026-01-01T00:00:09Z')),
      ).toEqual(['c2'])
      expect(await values('messages', 'id', where('id', '9223372036854775807'))).toEqual([])
      await expect(values('messages', 'id', where('id', '9223372036854775808'))).rejects.toThrow(
        /is an integer/,
      )
      await expect(values('visitors', 'id', where('vip', 'maybe'))).rejects.toThrow(
        /vip is true or false, and maybe is not/,
      )
    })

    test('a project limits the rows of objects that belong to projects', async () => {
      expect(await values('conversations', 'id', { projectId: 'other' })).toEqual([])
      expect(await values('sync_schema', 'name', { projectId: 'other' })).not.toEqual([])
    })

    test('an unknown name is an error with the nearest names', async () => {
      await expect(exportBytes(warehouse, 'mesages', 'csv')).rejects.toMatchObject({
        what: 'cannot export mesages',
        next: 'perhaps messages',
        exitCode: 2,
      })
      await expect(exportBytes(warehouse, 'xyzzy', 'csv')).rejects.toMatchObject({
        next: expect.stringMatching(/^choose from .*conversations, .*messages/),
      })
      await expect(values('conversations', 'creatd_at')).rejects.toMatchObject({
        why: 'it has no column creatd_at',
        next: expect.stringMatching(/^perhaps created_at/),
      })
      await expect(values('sync_budgets', 'name', { since: '2026-01-01' })).rejects.toThrow(
        /no column with a time/,
      )
      for (const since of [
        'yesterday',
        '2026-02-30',
        '2026-02-29',
        '2026-02-30T08:00:00Z',
        '2026-13-01',
      ])
        await expect(values('messages', 'id', { since })).rejects.toThrow(
          /neither a date nor a time/,
        )
    })

    test('a view that fails is named, without the values that its error may quote', async () => {
      const failing = db.name === 'sqlite' ? "json_extract(id, '$.secret')" : 'cast(id as integer)'
      await warehouse.query(
        `create view report_failing as select ${failing} as number from conversations`,
      )
      const error = await exportBytes(warehouse, 'report_failing', 'csv').catch(
        (reason: UserError) => reason,
      )
      expect(error).toMatchObject({
        what: 'cannot export report_failing',
        why: expect.stringMatching(/cannot compute this view/),
      })
      expect(JSON.stringify(error)).not.toContain('c1')
    })

    test('standard output takes one object', async () => {
      const request = { objects: ['messages', 'visitors'], format: 'csv' as const }
      await expect(exportWith(warehouse, request)).rejects.toThrow(
        /standard output holds only one object/,
      )
    })
  })
}

for (const db of databases) {
  test(`what others commit meanwhile is not exported, and they need not wait — ${db.name}`, async () => {
    const { warehouse, database } = await openWorld(db)
    const other = openMirror(await database.open(), 'main')
    const written: string[] = []
    const target = {
      write: async (bytes: Uint8Array) => {
        if (written.length === 0) await other.commit(commit('messages', [message('c3', 1)]))
        written.push(Buffer.from(bytes).toString())
      },
    }
    await exportWith(warehouse, { objects: ['messages'], format: 'jsonl', target })
    expect(written.join('')).not.toContain('"c3"')
    const where = [{ column: 'conversation_id', value: 'c3' }]
    expect((await exportBytes(warehouse, 'messages', 'jsonl', { where })).toString()).toContain(
      '"c3"',
    )
  })
}

describe('patterns', () => {
  const existing = [
    'fct_wait',
    'fct_visit',
    'report_wait',
    'sync_budgets',
    '_metabase_metadata',
  ].map((name) => {
    return { name, kind: 'table' as const }
  })
  const found = (...names: string[]) => findObjects(names, existing).map(({ name }) => name)

  test('a star stands for any characters, and no object comes twice', () => {
    expect(found('fct_*')).toEqual(['fct_wait', 'fct_visit'])
    expect(found('*wait', 'fct_wait')).toEqual(['fct_wait', 'report_wait'])
    expect(found('f*_*it')).toEqual(['fct_wait', 'fct_visit'])
  })

  test("deskmirror's own state is exported only by its exact name", () => {
    expect(found('*')).toEqual(['fct_wait', 'fct_visit', 'report_wait'])
    expect(found('sync_budgets')).toEqual(['sync_budgets'])
    expect(() => found('sync_*')).toThrow(/no table or view of that name/)
  })
})
