/**
 * The import buffer: streams can be read more than once, and changes between reads are detected.
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { appendFile, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openImportBuffer } from '../../src/imports/import-buffer.ts'
import type { ImportFile } from '../../src/imports/open-file.ts'
import { UserError } from '../../src/values/user-error.ts'
import { chunks } from './request-fixtures.ts'

let folder: string
const openBuffers: ImportFile['buffer'][] = []
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'import-buffer-'))
})
afterEach(async () => {
  for (const buffer of openBuffers.splice(0)) await buffer.close()
  await rm(folder, { recursive: true })
})

const text = `${'a line of text\n'.repeat(20_000)}and one without an end`
const sha256 = (bytes: string) => createHash('sha256').update(bytes).digest('hex')

async function openBuffer(
  ...[source, directory = folder, limits]: Parameters<typeof openImportBuffer>
) {
  const buffer = await openImportBuffer(source, directory, limits)
  openBuffers.push(buffer)
  return buffer
}

async function all(bytes: AsyncIterable<Buffer>): Promise<string> {
  return Buffer.concat(await Array.fromAsync(bytes)).toString()
}

async function fileOf(content: string): Promise<string> {
  const path = join(folder, 'import.jsonl')
  await writeFile(path, content)
  return path
}

test('a stream can be read any number of times', async () => {
  const buffer = await openBuffer(chunks(text.slice(0, 7), text.slice(7)))
  expect(await all(buffer.read())).toBe(text)
  expect(await all(buffer.read())).toBe(text)
  expect(buffer.digest).toBe(sha256(text))
  expect(buffer.head.toString()).toBe(text.slice(0, 64 * 1024))
})

test('a file is read in place, with the same digest', async () => {
  const buffer = await openBuffer(await fileOf(text))
  expect(await all(buffer.read())).toBe(text)
  expect(buffer.digest).toBe(sha256(text))
})

test('a named pipe is read once and copied, like standard input', async () => {
  const pipe = join(folder, 'pipe')
  execFileSync('mkfifo', [pipe])
  const opening = openBuffer(pipe)
  const writer = createWriteStream(pipe)
  writer.end(text)
  await once(writer, 'close')
  const buffer = await opening
  expect(await all(buffer.read())).toBe(text)
  expect(await all(buffer.read())).toBe(text)
})

test('a pipe that no program writes to is not waited for without end', async () => {
  const pipe = join(folder, 'pipe')
  execFileSync('mkfifo', [pipe])
  await expect(openBuffer(pipe, folder, { maxBytes: 10, waitMs: 50 })).rejects.toMatchObject({
    what: `cannot read ${pipe}`,
    why: 'no program writes to this pipe',
    exitCode: 2,
  })
})

test.each(['/dev/zero', '/dev/null', '/dev/tty'])('a device is not read: %s', async (path) => {
  await expect(openBuffer(path)).rejects.toMatchObject({ what: `cannot read ${path}`, exitCode: 2 })
})

test('what is larger than an import may be is refused, with the limit: a file, and a stream without an end', async () => {
  async function* endless() {
    for (;;) yield Buffer.alloc(1000, 'x')
  }
  const refused = { what: 'cannot import the file', why: 'it is larger than 5 kB', exitCode: 2 }
  const limits = { maxBytes: 5000, waitMs: 50 }
  await expect(openBuffer(endless(), folder, limits)).rejects.toMatchObject(refused)
  await expect(openBuffer(await fileOf(text), folder, limits)).rejects.toMatchObject(refused)
  expect(await readdir(folder)).toEqual(['import.jsonl'])
})

test('two concurrent reads are independent', async () => {
  const buffer = await openBuffer(chunks(text))
  expect(await Promise.all([all(buffer.read()), all(buffer.read())])).toEqual([text, text])
})

test('no file is visible while a stream is buffered or after it failed', async () => {
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
  ['one byte differs', (path) => writeFile(path, text.replace('and one', 'and own'))],
  ['it grows', (path) => appendFile(path, '\n')],
  ['it is cut', (path) => writeFile(path, text.slice(0, -1))],
])('a file that changes between two reads fails the second: %s', async ([, change]) => {
  const path = await fileOf(text)
  const buffer = await openBuffer(path)
  await all(buffer.read())
  await change(path)
  await expect(all(buffer.read())).rejects.toThrow(UserError)
})

test('a file that changes during a read fails it', async () => {
  const path = await fileOf(text)
  const buffer = await openBuffer(path)
  const reading = buffer.read()
  await reading.next()
  await writeFile(path, text.replace('and one', 'and own'))
  await expect(all(reading)).rejects.toThrow('it changed while it was read')
})

test('a file that replaces the first is not read', async () => {
  const path = await fileOf(text)
  const buffer = await openBuffer(path)
  await writeFile(join(folder, 'other'), 'other')
  await rename(join(folder, 'other'), path)
  expect(await all(buffer.read())).toBe(text)
})

test('a read may be stopped early', async () => {
  const buffer = await openBuffer(await fileOf(text))
  for await (const chunk of buffer.read()) {
    expect(chunk.length).toBeGreaterThan(0)
    break
  }
  expect(await all(buffer.read())).toBe(text)
})

test('an unreadable source is an error that says what to do', async () => {
  const nowhere = join(folder, 'nowhere')
  await expect(openBuffer(nowhere)).rejects.toMatchObject({
    what: `cannot read ${nowhere}`,
    exitCode: 2,
  })
  await expect(openBuffer(folder)).rejects.toMatchObject({
    what: `cannot read ${folder}`,
    why: 'it is a folder',
  })
  await expect(openBuffer(chunks(text), nowhere)).rejects.toMatchObject({
    what: `cannot buffer the import in ${nowhere}`,
  })
})
