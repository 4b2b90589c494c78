/**
 * Runs every parser over long runs of one character, in a process that can be killed: quadratic
 * time takes minutes here.
 */
import { Readable } from 'node:stream'
import { mayBeSecret, redactValue } from '../../src/config/problems.ts'
import { parseSchedule } from '../../src/config/schedule-field.ts'
import { defuse } from '../../src/export/writers/csv-writer.ts'
import { toWords } from '../../src/imports/check-lines.ts'
import { detectFileForm, type FileForm } from '../../src/imports/file-form.ts'
import { parseLines } from '../../src/imports/parse-lines.ts'
import { conversations, visitorActivity } from '../../src/mirror/core/streams.ts'
import { columnName } from '../../src/mirror/sql/discovered-columns/discovered-column.ts'
import { toCommonReason } from '../../src/outbox/core/group-reasons.ts'
import { matchesPayload } from '../../src/outbox/core/review/guards.ts'
import { parseRequest } from '../../src/outbox/core/writeback-request.ts'
import { classifyExchange } from '../../src/service/classify-response.ts'
import { createRedactor } from '../../src/service/client.ts'
import { createRowSplitter } from '../../src/service/row-splitter.ts'
import { toPrintable } from '../../src/values/format.ts'
import { excerpt, showInvisible } from '../../src/values/invisible.ts'
import { stringifyJson, tryParseJson } from '../../src/values/json.ts'
import { parseBaseUrl, parseServerUrl } from '../../src/values/server-address.ts'
import { parseDuration, parseRate, parseTime } from '../../src/values/time.ts'
import { decodeJson, decodeText, encodeJson, encodeText } from '../../src/warehouse/escape.ts'

const request = { method: 'GET', path: '/public/calls/1', priority: 'fresh' } as const
const redact = createRedactor('svc_live_secret')
const context = { request, requestedAt: 0, receivedAt: 0, defaultRetryAfterMs: 60_000, redact }

function classifyAnswer(
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): unknown {
  const splitBody = { rest: Buffer.from(JSON.stringify(body)), batches: null }
  return classifyExchange({ kind: 'complete', head: { status, headers }, body: splitBody }, context)
}

const row = (text: string) => ({
  id: 'c1',
  [text]: text,
  createdAt: text,
  nested: { [text]: [text] },
})
const snapshotMessage = (content: string) => ({
  id: '1',
  at: 0,
  content,
  senderName: content,
  side: 'team' as const,
})

function parseFile(format: FileForm['format'], lines: readonly string[]): Promise<unknown> {
  const bytes = Buffer.from(lines.join('\n'))
  // A file with NUL characters is refused before it is read.
  const form = detectFileForm(Buffer.from((lines[0]?.slice(0, 10) ?? '').replaceAll('\0', ' ')), {
    format,
  })
  return Array.fromAsync(parseLines(Readable.from([bytes]), form, { ignoreColumns: 'all' }))
}

/** Each parser with text that a service, a file or a person may have written. */
const parsers: Readonly<Record<string, (text: string) => unknown>> = {
  'the message of a 403': (text) =>
    classifyAnswer(403, {
      error: { code: 'api_key_scope_missing', message: text, status: 403 },
      requestId: text,
    }),
  'the issues of a 400': (text) =>
    classifyAnswer(400, {
      error: { code: text, message: text, context: { issues: [text, { path: [text, text] }] } },
    }),
  'the headers of an answer': (text) =>
    classifyAnswer(429, text, { 'retry-after': text, date: text, location: text }),
  'a redirect': (text) => classifyAnswer(302, {}, { location: text }),
  'the bytes of a response': (text) => {
    const splitter = createRowSplitter()
    splitter.write(Buffer.from(`{"data":{"items":[${text}`))
    return splitter.end()
  },
  'the names of fields': (text) => conversations.parseRows([row(text)], text),
  'an entry of activity': (text) => visitorActivity.parseRows([row(text)], 'v1'),
  'the name of a column': (text) => columnName(text, new Set()),
  'a time': parseTime,
  JSON: tryParseJson,
  'numbers in JSON': (text) =>
    tryParseJson(`[ ${text},"${text.replace(/["\\\n]/g, '')}",1${'0'.repeat(400)}]`),
  'JSON of a text': (text) => stringifyJson({ [text]: text }),
  'what a database cannot hold': (text) => {
    const stored = encodeJson('postgres', JSON.stringify(text))
    return [
      decodeJson('postgres', stored),
      decodeText(encodeText('postgres', text)),
      encodeText('sqlite', text),
    ]
  },
  'rows of CSV': (text) =>
    parseFile('csv', [
      'operation,content,name,email,expect,ref,handled',
      `message,"${text.replaceAll('"', '')}"`,
      `visitor,,${text},${text},${text},${text},${text}`,
      ...[text, text],
    ]),
  'the header of CSV': (text) => parseFile('csv', [`operation;${text}`]),
  // A file with NUL characters is refused before it is read.
  'the beginning of a file': (text) => detectFileForm(Buffer.from(text.replaceAll('\0', ' '))),
  'a text for the same words': toWords,
  'why a write-back failed': toCommonReason,
  'the words of a visitor': (text) => [excerpt(text), showInvisible(text)],
  'a line of JSON Lines': (text) => parseFile('jsonl', [text]),
  'a write-back': (text) =>
    parseRequest({
      operation: 'message',
      conversation_id: text,
      content: text,
      sender_name: text,
      expect: text,
      ref: text,
    }),
  'a base URL': (text) => [parseBaseUrl(text), parseBaseUrl(`https://service.example/${text}`)],
  'the address of a server': (text) => [
    parseServerUrl(text, ['redis']),
    parseServerUrl(`redis://${text}`, ['redis']),
  ],
  'a duration, a rate, a schedule': (text) => [
    parseDuration(text),
    parseRate(text),
    parseSchedule(text),
  ],
  'an invalid setting': (text) => [redactValue(text), mayBeSecret(text)],
  'a shown reply': (text) =>
    matchesPayload(snapshotMessage(text), { content: `${text}.`, sender_name: text }),
  'a line for a terminal': toPrintable,
  'a cell of a spreadsheet': (text) =>
    defuse(`a;${text.replaceAll('\n', '\n ')}=1${"'".repeat(text.length)}`),
}

const letters = [
  'a',
  'A',
  '0',
  '-',
  '.',
  '/',
  ' ',
  '\n',
  '<',
  '[',
  '{',
  '"',
  '\\',
  ':',
  '@',
  '_',
  ',',
  '\0',
  'é',
  '␛',
]
const length = 100_000

for (const [name, parse] of Object.entries(parsers)) {
  for (const letter of letters) {
    process.stdout.write(`${name}: ${JSON.stringify(letter)}\n`)
    for (const text of [letter.repeat(length), `x${letter.repeat(length)}x!`]) await parse(text)
  }
}
process.stdout.write('all parsed\n')
