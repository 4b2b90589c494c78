/**
 * A process that creates the data of the embedded store in the folder of its last argument, and prints why it could not.
 * Postgres creates them in memory, where they are copied from: PGlite itself would pack and unpack an archive of them,
 * which takes 200 MB more.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PGlite } from '@electric-sql/pglite'
import { errorText } from '../../../src/core/error-text.ts'
import { copySparsely } from './copy-sparsely.ts'
import { type MemoryFiles, memoryFilesOf } from './memory-files.ts'
import { settings, startParams } from './start-params.ts'

// PGlite copies the whole memory of Postgres, 128 MB that are mostly zeros, several times.
copySparsely()
// The files have the mode of the worker's own.
process.umask(0o077)

try {
  const target = process.argv.at(-1) ?? ''
  const database = await createDatabase()
  const files = memoryFilesOf(database)
  await database.close()
  copyFolder(files, '/pglite/data', target)
} catch (error) {
  process.stderr.write(errorText(error))
  process.exitCode = 1
}

async function createDatabase(): Promise<PGlite> {
  const database = await PGlite.create({
    dataDir: 'memory://',
    // The smallest: Postgres always keeps two segments, of 16 MB by default.
    initDbStartParams: ['--wal-segsize=1', ...settings.flatMap((setting) => ['-c', setting])],
    startParams,
  })
  // Only the database `postgres` is used. Each of the templates is as large.
  await database.exec('update pg_database set datistemplate = false')
  for (const template of ['template0', 'template1']) await database.exec(`drop database ${template}`)
  await database.exec('vacuum full')
  await database.exec('checkpoint')
  return database
}

function copyFolder(files: MemoryFiles, source: string, target: string): void {
  mkdirSync(target, { recursive: true })
  for (const name of files.readdir(source).filter((name) => name !== '.' && name !== '..')) {
    const [from, to] = [`${source}/${name}`, join(target, name)]
    if (files.isDir(files.stat(from).mode)) copyFolder(files, from, to)
    else writeFileSync(to, files.readFile(from))
  }
}
