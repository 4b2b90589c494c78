/**
 * JSON Lines imports, and properties of both formats: every line is parsed, whatever mistakes the
 * file has.
 */

import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { maxLineBytes, readTextLines } from '../../src/imports/csv-records.ts'
import { detectFileForm } from '../../src/imports/file-form.ts'
import { parseLines } from '../../src/imports/parse-lines.ts'
import type { WritebackRequest } from '../../src/outbox/core/writeback-request.ts'
import { sampled } from '../support/sampled.ts'
import {
  anyRequest,
  chunks,
  conversation,
  parseAllLines,
  summarizeLine,
  visitor,
} from './request-fixtures.ts'

const reply = {
  operation: 'message',
  conversation_id: conversation,
  content: 'On its way',
  sender_name: 'Ann',
}
const note = { operation: 'note', visitor_id: visitor, content: 'Paid twice' }
const json = (...values: readonly object[]) =>
  values.map((value) => JSON.stringify(value)).join('\n')

describe('JSON Lines', () => {
  test('one request per line, with or without a final line end', async () => {
    const request: WritebackRequest = {
      operation: 'message',
      target: conversation,
      payload: { content: 'On its way', sender_name: 'Ann' },
      ref: null,
      expect: null,
      expiresAt: null,
    }
    expect(await parseAllLines(json(reply))).toMatchObject([
      { line: 1, row: 1, result: { ok: true, request } },
    ])
    expect((await parseAllLines(json(reply, note))).map(summarizeLine)).toEqual([
      '1: message',
      '2: note',
    ])
    expect((await parseAllLines(`${json(reply, note)}\n`)).map(summarizeLine)).toEqual([
      '1: message',
      '2: note',
    ])
  })

  test('blank lines are skipped, and lines are numbered as in an editor', async () => {
    const file = `\n  \r\n${JSON.stringify(reply)}\r\n\n\t\n${JSON.stringify(note)}\n\n`
    expect((await parseAllLines(file)).map(summarizeLine)).toEqual(['3: message', '6: note'])
  })

  test('a BOM at the start is dropped, and one in the middle is a mistake', async () => {
    expect((await parseAllLines(`\uFEFF${json(reply)}`)).map(summarizeLine)).toEqual(['1: message'])
    expect((await parseAllLines(`${json(reply)}\n\uFEFF${json(note)}`)).map(summarizeLine)).toEqual(
      ['1: message', '2: is not JSON'],
    )
  })

  test('an invalid line is a mistake, and the others are read', async () => {
    const file = `${json(reply)}\n{"operation":\nhello\n[1]\n7\n${json(note)}`
    expect((await parseAllLines(file)).map(summarizeLine)).toEqual([
      '1: message',
      '2: is not JSON',
      '3: is not JSON',
      '4: must be a JSON object',
      '5: must be a JSON object',
      '6: note',
    ])
  })

  test('ids beyond 2^53 are read exactly', async () => {
    const file = `{"operation":"handled","conversation_id":"${conversation}","handled":true,"expect":9007199254740993}`
    expect(await parseAllLines(file)).toMatchObject([
      { result: { request: { expect: '9007199254740993' } } },
    ])
  })

  test('a JSON array is reported as invalid JSON Lines', async () => {
    expect((await parseAllLines(`[\n${json(reply)}\n]`)).map(summarizeLine)).toEqual([
      '1: is a JSON array; write one object a line, for example with: jq -c ".[]"',
      '2: message',
      '3: is not JSON',
    ])
  })

  test('a request written as JSON is read back unchanged', async () => {
    await fc.assert(
      fc.asyncProperty(anyRequest, async (request) => {
        const about = ['message', 'handled'].includes(request.operation)
          ? 'conversation_id'
          : 'visitor_id'
        const { operation, target, payload, ref, expect: seen, expiresAt } = request
        const line = {
          operation,
          [about]: target,
          ...payload,
          ref,
          expect: seen,
          expires_at: expiresAt,
        }
        expect((await parseAllLines(json(line))).map(({ result }) => result)).toEqual([
          { ok: true, request },
        ])
      }),
    )
  })
})

describe('any file', () => {
  test('an empty file has no lines', async () => {
    for (const format of ['jsonl', 'csv', 'auto'] as const) {
      expect(await parseAllLines('', format)).toEqual([])
      expect(await parseAllLines('\uFEFF\n \r\n', format)).toEqual([])
    }
  })

  test('the first non-blank character decides the format, unless it is given', async () => {
    expect((await parseAllLines(`\uFEFF\n  ${json(reply)}`)).map(summarizeLine)).toEqual([
      '2: message',
    ])
    expect(
      (await parseAllLines(`\n\noperation,visitor_id,content\nnote,${visitor},Hi`)).map(
        summarizeLine,
      ),
    ).toEqual(['4: note'])
    expect((await parseAllLines('operation,visitor_id', 'jsonl')).map(summarizeLine)).toEqual([
      '1: is not JSON',
    ])
    expect((await parseAllLines(json(reply), 'csv')).map(summarizeLine)).toEqual([
      expect.stringMatching(/^1: /),
    ])
  })

  test('invalid UTF-8 is rejected in its line and never becomes replacement characters', async () => {
    const latin1 = Buffer.from(`${json({ ...note, content: 'Grüße' })}`, 'latin1')
    const file = Buffer.concat([
      Buffer.from(`${json(note)}\n`),
      latin1,
      Buffer.from(`\n${json(note)}`),
    ])
    expect((await parseAllLines(file)).map(summarizeLine)).toEqual([
      '1: note',
      '2: is not UTF-8; save the file as "CSV UTF-8"',
      '3: note',
    ])
  })

  test('values that are nested hundreds of thousands of times are a mistake of their row', async () => {
    const nested = `${'['.repeat(400_000)}${']'.repeat(400_000)}`
    const file = [`{"operation":"note","visitor_id":${nested}}`, nested, json(note)].join('\n')
    const found = await parseAllLines(file)
    expect(found.map(({ line, result }) => [line, result.ok])).toEqual([
      [1, false],
      [2, false],
      [3, true],
    ])
  })

  test('a line of 1 MiB is read, a longer one is a mistake, and the others are read', async () => {
    const padded = (length: number) => json(note).padEnd(length)
    const file = [padded(maxLineBytes), padded(maxLineBytes + 1), json(note)].join('\n')
    expect((await parseAllLines(file)).map(summarizeLine)).toEqual([
      '1: note',
      '2: is longer than 1 MiB',
      '3: note',
    ])
  })

  test('chunk boundaries do not matter', async () => {
    const files = [
      `\uFEFF${json(reply)}\r\n\nbroken\n${json({ ...note, content: 'Grüße 👋' })}\n`,
      `\uFEFFoperation;visitor_id;content\r\nnote;${visitor};"Grüße\r\n""👋"""\r\n\r\nnote;x"y;\r\nnote;${visitor};"b"`,
      `\n\n\noperation,visitor_id,content\r\n\r\n\r\n \n \nnote,${visitor},"a\n\n\n\r\n\r\n\t\n\t\nb"\n\n\nnote,${visitor},c`,
    ].map((file) => Buffer.from(file))
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...files), fc.array(fc.nat(250)), async (file, cuts) => {
        const at = [0, ...cuts.toSorted((a, b) => a - b), file.length]
        const pieces = at.map((from, index) => file.subarray(from, at[index + 1]))
        expect(await Array.fromAsync(parseLines(chunks(...pieces), detectFileForm(file)))).toEqual(
          await parseAllLines(file),
        )
      }),
    )
    for (const file of files) {
      const bytes = [...file].map((byte) => Uint8Array.of(byte))
      expect(await Array.fromAsync(parseLines(chunks(...bytes), detectFileForm(file)))).toEqual(
        await parseAllLines(file),
      )
    }
  })

  test('any number of line ends is counted', async () => {
    const options = { encoding: 'utf-8', lineEnd: 'lf' } as const
    for (const end of ['\n', '\r\n', ' \t\r\n']) {
      const found: (readonly [number, string])[] = []
      for await (const { line, text } of readTextLines(
        chunks('a\n', end.repeat(200_000), 'b'),
        options,
      ))
        if (text.trim() !== '') found.push([line, text])
      expect(found).toEqual([
        [1, 'a'],
        [200_002, 'b'],
      ])
    }
  })

  test('line ends behind an open quote count, so nothing is read behind too many of them', async () => {
    // 8 MiB with the line ends, and less without them.
    const open = `${'x'.repeat(1023)}\n`.repeat(7.5 * 1024) + '\n'.repeat(0.6 * maxLineBytes)
    const found = await parseAllLines(`operation,content\n"${open}"\nnote,Hi\n`)
    expect(found.map(summarizeLine)).toEqual(['2: is longer than 1 MiB'])
  })

  test('the process gets its turn every few hundred lines', async () => {
    let [turns, isDone] = [0, false]
    const takeTurn = () => {
      turns += 1
      if (!isDone) setImmediate(takeTurn)
    }
    setImmediate(takeTurn)
    await parseAllLines(`operation\n${'x\n'.repeat(20_000)}`)
    isDone = true
    expect(turns).toBeGreaterThanOrEqual(20)
  })
})

describe('memory', () => {
  setFlagsFromString('--expose-gc')
  const collect: () => void = runInNewContext('gc')
  const alive = () => {
    collect()
    const { heapUsed, external } = process.memoryUsage()
    return (heapUsed + external) / 2 ** 20
  }
  const long = 'word '.repeat(30)
  const longNote = { ...note, content: long }

  const files: readonly [form: string, thousands: number, head: string, row: string][] = [
    ['JSON Lines', 65, '', `${json(longNote)}\n`],
    ['CSV', 45, 'operation,visitor_id,content\n', `note,${visitor},"${long}\n${long}"\n`],
    ['one line without a line end', 105, '', long],
    ['an unclosed quote', 105, 'operation,content\n"', `${long}\n`],
    ['a record that never ends', 105, 'operation,content\n"', `${long}","\n`],
  ]
  test.for(sampled(files, ([form]) => /CSV|quote/.test(form)))(
    'a file of any length needs little: %s',
    async ([, thousands, head, row]) => {
      const thousand = Buffer.from(row.repeat(1_000))
      const before = alive()
      let most = 0
      async function* file() {
        yield Buffer.from(head)
        for (let at = 1; at <= thousands; at += 1) {
          yield Buffer.from(thousand)
          if (at % 20 === 0) most = Math.max(most, alive())
        }
      }
      let lines = 0
      for await (const { line } of parseLines(file(), detectFileForm(Buffer.from(head + row))))
        lines += Math.sign(line)
      expect([1, 1_000 * thousands]).toContain(lines)
      // The files have 15 MB and more; a chunk that is still referenced may have a few.
      expect(most - before).toBeLessThan(12)
    },
  )
})
