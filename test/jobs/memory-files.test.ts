/** The memory that the files of the embedded Postgres take. */
import { PGlite } from '@electric-sql/pglite'
import { expect, onTestFinished, test } from 'vitest'
import { memoryFilesOf, releaseUnneededFiles } from '../../jobs/backends/embedded/memory-files.ts'

test('a Postgres that has started gives back the files that it came with, and its functions still run', async () => {
  const database = await PGlite.create()
  onTestFinished(() => database.close())
  const files = memoryFilesOf(database)
  const { buffer } = files.lookupPath('/pglite/share/postgresql/postgres.bki').node.contents
  expect(buffer.byteLength).toBeGreaterThan(6e6)
  releaseUnneededFiles(files)
  expect(buffer.byteLength).toBe(0)
  await database.exec("create function twice(n int) returns int language plpgsql as 'begin return 2 * n; end'")
  expect((await database.query('select twice(21) as n')).rows).toEqual([{ n: 42 }])
})
