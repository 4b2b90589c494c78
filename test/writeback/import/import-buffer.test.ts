/** What can be read once is kept to be read twice, and what changes between two readings is not taken for the same. */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { appendFile, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { UserError } from '../../../src/core/user-error.ts'
import { type ImportBuffer, openImportBuffer } from '../../../src/writeback/import/import-buffer.ts'
import { chunks } from './request-fixtures.ts'

let folder: string
const openBuffers: ImportBuffer[] = []
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'spool-'))
})
afterEach(async () => {
  for (const spool of openBuffers.splice(0)) await spool.close()
  await rm(folder, { recursive: true })
})

const text = `${'a line of text\n'.repeat(20_000)}and one without an end`
const sha256 = (bytes: string) => createHash('sha256').update(bytes).digest('hex')

async function openBuffer(...[source, place = folder]: Parameters<typeof openImportBuffer>): Promise<ImportBuffer> {
  const made = await openImportBuffer(source, place)
  openBuffers.push(made)
  return made
}

async function all(bytes: AsyncIterable<Buffer>): Promise<string> {
  return Buffer.concat(await Array.fromAsync(bytes)).toString()
}

async function fileOf(content: string): Promise<string> {
  const path = join(folder, 'import.jsonl')
  await writeFile(path, content)
  return path
}

test('a stream is read as often as one likes', async () => {
  const kept = await openBuffer(chunks(text.slice(0, 7), text.slice(7)))
  expect(await all(kept.read())).toBe(text)
  expect(await all(kept.read())).toBe(text)
  expect(kept.digest).toBe(sha256(text))
  expect(kept.lines).toBe(20_001)
})

test('a file is read where it is, with the same digest', async () => {
  const kept = await openBuffer(await fileOf(text))
  expect(await all(kept.read())).toBe(text)
  expect(kept).toMatchObject({ digest: sha256(text), lines: 20_001 })
})

test.for<[string, number]>([
  ['', 0],
  ['\n', 1],
  ['a', 1],
  ['a\n', 1],
  ['a\n\nb', 3],
])('%j has %i lines', async ([content, lines]) => {
  expect((await openBuffer(chunks(content))).lines).toBe(lines)
})

test('a named pipe is read once and kept, like standard input', async () => {
  const pipe = join(folder, 'pipe')
  execFileSync('mkfifo', [pipe])
  const made = openBuffer(pipe)
  const writer = createWriteStream(pipe)
  writer.end(text)
  await once(writer, 'close')
  const kept = await made
  expect(await all(kept.read())).toBe(text)
  expect(await all(kept.read())).toBe(text)
})

test('two readings at once do not disturb each other', async () => {
  const kept = await openBuffer(chunks(text))
  expect(await Promise.all([all(kept.read()), all(kept.read())])).toEqual([text, text])
})

test('nothing lies in the folder while a stream is kept, nor when it broke off', async () => {
  const seen: string[][] = []
  async function* breaking() {
    yield Buffer.from('{"operation":"note"')
    seen.push(await readdir(folder))
    throw new Error('the terminal was closed')
  }
  await expect(openBuffer(breaking())).rejects.toThrow('the terminal was closed')
  await openBuffer(chunks(text))
  expect([...seen, await readdir(folder)]).toEqual([[], []])
})

test.for<[string, (path: string) => Promise<void>]>([
  ['one byte is another one', (path) => writeFile(path, text.replace('and one', 'and own'))],
  ['it grows', (path) => appendFile(path, '\n')],
  ['it is cut', (path) => writeFile(path, text.slice(0, -1))],
])('a file that changes between two readings ends the second with an error: %s', async ([, change]) => {
  const path = await fileOf(text)
  const kept = await openBuffer(path)
  await all(kept.read())
  await change(path)
  await expect(all(kept.read())).rejects.toThrow(UserError)
})

test('a file that changes while it is read ends the reading with an error', async () => {
  const path = await fileOf(text)
  const kept = await openBuffer(path)
  const reading = kept.read()
  await reading.next()
  await writeFile(path, text.replace('and one', 'and own'))
  await expect(all(reading)).rejects.toThrow('it changed while it was read')
})

test('another file in the place of the first is not read', async () => {
  const path = await fileOf(text)
  const kept = await openBuffer(path)
  await writeFile(join(folder, 'other'), 'other')
  await rename(join(folder, 'other'), path)
  expect(await all(kept.read())).toBe(text)
})

test('a reading may be broken off', async () => {
  const kept = await openBuffer(await fileOf(text))
  for await (const chunk of kept.read()) {
    expect(chunk.length).toBeGreaterThan(0)
    break
  }
  expect(await all(kept.read())).toBe(text)
})

test('what cannot be read is told with what to do', async () => {
  const nowhere = join(folder, 'nowhere')
  await expect(openBuffer(nowhere)).rejects.toMatchObject({ what: `cannot read ${nowhere}`, exitCode: 2 })
  await expect(openBuffer(folder)).rejects.toMatchObject({ what: `cannot read ${folder}`, why: 'it is a folder' })
  await expect(openBuffer(chunks(text), nowhere)).rejects.toMatchObject({
    what: `cannot buffer the import in ${nowhere}`,
  })
})
