/**
 * The file of mistakes: the rows as they were, with the reasons, in a form that can be corrected
 * and imported.
 */
import { existsSync } from 'node:fs'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { importedFile } from '../../src/export/kept-files.ts'
import { checkFile } from '../../src/imports/enqueue-file.ts'
import { openImportBuffer } from '../../src/imports/import-buffer.ts'
import type { ImportFile } from '../../src/imports/open-file.ts'
import { createTempFolder } from '../support/temp-folder.ts'
import {
  conversation,
  emptyLookups,
  parseAllLines,
  summarizeLine,
  visitor,
} from './request-fixtures.ts'

/** Checks a file, and returns the lines of the file of mistakes. */
async function mistakesOf(
  text: string | Uint8Array,
  parse: ImportFile['parse'] = {},
  name = 'mistakes.csv',
) {
  const folder = createTempFolder()
  const [file, path] = [join(folder, 'import'), join(folder, name)]
  await writeFile(file, text)
  const buffer = await openImportBuffer(file)
  const options = { allowDuplicates: false, project: 'shop', onProgress: () => {} }
  const checked = {
    now: Date.parse('2026-06-01T12:00:00Z'),
    ...options,
    mistakesTarget: { path, overwrite: false, kept: [importedFile(file)] },
  }
  const report = await checkFile(emptyLookups, { buffer, name: file, parse }, checked).finally(
    buffer.close,
  )
  const written = existsSync(path) ? (await readFile(path, 'utf8')).split('\r\n') : null
  return { report, written, folder: await readdir(folder) }
}

test('has the columns as they were named, and cells as they were written, but no formulas', async () => {
  const head = `Operation;visitor-id;CONTENT;=Owner()`
  const rows = [
    `note;${visitor};fine;Bob`,
    `note;nobody;"a;b\nc ""d""";Bob`,
    `visitor;${visitor};null;=1+1;x`,
  ]
  const { written } = await mistakesOf([head, ...rows].join('\n'), { ignoreColumns: 'all' })
  expect(written?.join('\r\n').replaceAll('\r\n', '\n').split('\n')).toEqual([
    "\uFEFFrow;mistake;Operation;visitor-id;CONTENT;'=Owner()",
    '3;visitor_id: is not a UUID;note;nobody;"a;b',
    'c ""d""";Bob',
    `4;"has a value in a column without a name: is a separator in a text, without quotes around it?; content: is not a field of this operation";visitor;${visitor};null;'=1+1;x`,
    '',
  ])
})

test('replaces its own columns when it is imported with mistakes again', async () => {
  const file = `row,mistake,operation,visitor_id,content\n7,content: is missing,note,${visitor},\n`
  expect((await mistakesOf(file)).written).toEqual([
    '\uFEFFrow,mistake,operation,visitor_id,content',
    `2,content: is missing,note,${visitor},`,
    '',
  ])
})

test('shows a row with a misplaced quote as a spreadsheet would, so that it can be imported', async () => {
  const file = `operation,visitor_id,content\nnote,${visitor},5" screen, new\nnote,${visitor},"five" inches\n`
  const { written } = await mistakesOf(file)
  const text = written?.join('\r\n') ?? ''
  expect(text).toContain(`note,${visitor},"5"" screen"," new"`)
  expect((await parseAllLines(text)).map(summarizeLine)).toEqual([
    expect.stringMatching(/^2: has a value in a column without a name/),
    '3: note',
  ])
  expect(await parseAllLines(text)).toMatchObject([
    {},
    { result: { request: { payload: { content: 'five inches' } } } },
  ])
})

test('of JSON Lines has the fields as columns, and a line as it is where they cannot hold it', async () => {
  const lines = [
    JSON.stringify({ operation: 'note', visitor_id: visitor, content: '=1+1', ref: 7 }),
    JSON.stringify({
      operation: 'handled',
      conversation_id: conversation,
      handled: 'yes',
      expect: { id: 7 },
      to: 'x',
    }),
    JSON.stringify({ operation: 'visitor', visitor_id: visitor, name: null, email: '' }),
    '{"operation":',
  ]
  const { written } = await mistakesOf(lines.join('\n'))
  expect(written).toEqual([
    '\uFEFFrow,mistake,operation,conversation_id,visitor_id,content,sender_name,handled,name,email,ref,expect,expires_at,line',
    `1,ref: must be text,note,,${visitor},'=1+1,,,,,7,,,`,
    `2,"handled: must be true or false; to: is not a field of this operation",handled,${conversation},,,,yes,,,,"{""id"":7}",,"${lines[1]?.replaceAll('"', '""')}"`,
    `3,email: is empty,visitor,,${visitor},,,,null,,,,,`,
    '4,is not JSON,,,,,,,,,,,,"{""operation"":"',
    '',
  ])
})

test('keeps the letters of a row that is not UTF-8', async () => {
  const bytes = Buffer.from(`operation;visitor_id;content\nnote;${visitor};Grüße\n`, 'latin1')
  expect((await mistakesOf(bytes)).written?.[1]).toBe(
    `2;"is not UTF-8; save the file as ""CSV UTF-8""";note;${visitor};Grüße`,
  )
})

test('is not there without mistakes, or where the header has some, and half a file never is', async () => {
  const header = 'operation,visitor_id,content'
  expect(await mistakesOf(`${header}\nnote,${visitor},x\n`)).toMatchObject({
    written: null,
    folder: ['import'],
  })
  const wrong = await mistakesOf(`${header},Owner\nnote,${visitor},,x\n`)
  expect(wrong).toMatchObject({
    written: null,
    folder: ['import'],
    report: { rows: 0, mistakesFile: null },
  })
})

test('is not the imported file, whatever it is called', async () => {
  const file = `operation,visitor_id,content\nnote,${visitor},\n`
  await expect(mistakesOf(file, {}, 'import')).rejects.toMatchObject({
    why: 'it is the file that is imported, which would be lost',
    exitCode: 2,
  })
})
