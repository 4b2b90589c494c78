/** The answer to one statement as a file: it reads, and is exported whole or not at all. */
import { expect, test } from 'vitest'
import { exportQuery } from '../../src/app/export.ts'
import type { ExportFormat } from '../../src/export/core/formats.ts'
import { databases } from '../support/databases.ts'
import { createMemoryOutput, openWorld, wholeObject } from './export-world.ts'

async function ask(databaseUrl: string, statement: string, format: ExportFormat = 'csv') {
  const target = createMemoryOutput()
  const request = { ...wholeObject, format, target }
  const { signal } = new AbortController()
  const named = { name: 'waits', statement }
  const options = { signal, onProgress: () => {} }
  const report = await exportQuery({ databaseUrl }, named, request, options)
  return { report, text: target.bytes().toString() }
}

for (const db of databases)
  test(`its values are those of the tables, with their types; what writes, or is too much, is refused — ${db.name}`, async () => {
    const { database, warehouse } = await openWorld(db)
    const url = database.url!
    const { report, text } = await ask(
      url,
      `-- By hand.
      select id, 7 as whole, 2.5 as part, cast(null as text) as empty, content as "a, b"
      from messages where content like '%byte order%' or content like '=1%' order by id;`,
    )
    expect(text.split('\r\n')).toEqual([
      'id,whole,part,empty,"a, b"',
      '7,7,2.5,,=1+2',
      '16,7,2.5,,a \ufeff byte order mark',
      '',
    ])
    expect(report).toMatchObject({ format: 'csv', objects: [{ object: 'waits', rows: 2 }] })
    const typed = await ask(url, 'select 1 as n, 1.5 as r, created_at from conversations', 'jsonl')
    expect(JSON.parse(typed.text.split('\n')[0]!)).toEqual({
      n: 1,
      r: 1.5,
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
    })
    const many = `with recursive s(n) as (select 1 union all select n + 1 from s where n < 100001)
      select n from s`
    for (const [statement, why] of [
      ['delete from visitors', /no SELECT|cursor|syntax/],
      ['select 1; select 2', /more than one|multiple commands/],
      ['with x as (delete from visitors returning 1) select * from x', /writes|syntax|cursor|WITH/],
      ['select 1 as n, 2 as n', /several of its columns are named n/],
      ['select nothing from visitors', /nothing/],
      [many, /first 100000/],
    ] as const)
      await expect(ask(url, statement), statement).rejects.toThrow(why)
    expect(await warehouse.query('select 1 from visitors')).toHaveLength(2)
  })
