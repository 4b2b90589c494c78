/** A review as one HTML page and as CSV: hostile texts change neither. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import {
  openCsvOutput,
  openPageOutput,
  type ReviewOutput,
} from '../../src/cli/render/review-files.ts'
import { createReviewCounter } from '../../src/outbox/core/review/summary.ts'
import type { ReviewOutcome, WritebackReview } from '../../src/outbox/core/review/terms.ts'
import { showInvisible } from '../../src/values/invisible.ts'
import { createTempFolder } from '../support/temp-folder.ts'

const hostile = [
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  "'onmouseover='alert(1)",
  '</table></body>&lt;',
  'abc\u202edcba',
  '=HYPERLINK("http://evil","x")',
  '@SUM(1)\n+1',
]

function reviewWith(
  text: string,
  position: number,
  outcome: ReviewOutcome = 'would_change',
): WritebackReview {
  return {
    position,
    place: position,
    id: null,
    operation: 'visitor',
    action: 'correct_visitor',
    target: 'v',
    outcome,
    reason: outcome === 'stands_against' ? 'invalid' : null,
    why: outcome === 'stands_against' ? text : null,
    changes: [{ field: 'name', old: text, new: `new ${text}` }],
    visitorName: text,
    lastWords: { text, at: '2026-06-01T12:00:00Z' },
    firstWords: text,
    senderName: text,
    marks: [text],
    after: null,
    blockedBy: null,
    expect: null,
    expiresAt: null,
    mirrorAsOf: '2026-06-01T12:00:00Z',
  }
}

async function writeReview(
  open: (path: string) => Promise<ReviewOutput>,
  name: string,
): Promise<string> {
  const path = join(createTempFolder(onTestFinished), name)
  const output = await open(path)
  const counter = createReviewCounter()
  const reviews = hostile.flatMap((text, n) => [
    reviewWith(text, 2 * n + 1),
    reviewWith(text, 2 * n + 2, 'stands_against'),
  ])
  for (const review of reviews) counter.add(review)
  await output.write(reviews)
  await output.finish(counter.summary(), { title: hostile[0]!, notes: hostile })
  await output.close()
  return readFileSync(path, 'utf8')
}

const overwrite = { overwrite: false, kept: [] }

test('the page is one file without script, and hostile texts are escaped, isolated and visible', async () => {
  const page = await writeReview((path) => openPageOutput(path, overwrite), 'review.html')
  expect(page).toMatch(/^<!doctype html>/)
  expect(page.trimEnd()).toMatch(/<\/html>$/)
  expect(page).toContain(
    `http-equiv="Content-Security-Policy" content="default-src &#39;none&#39;; style-src &#39;unsafe-inline&#39;"`,
  )
  const tags = [...page.matchAll(/<\/?([a-z0-9]+)/g)].map(([, tag]) => tag)
  const expected =
    'bdi body br caption h1 h2 head html li main meta p section style table tbody td th thead title tr ul div'
  expect([...new Set(tags)].filter((tag) => !expected.split(' ').includes(tag ?? ''))).toEqual([])
  expect(page).not.toMatch(/<[^>]*\s(?:on\w+|src|href)=|javascript:|\u202e/i)
  expect(page).toContain('<bdi>abc[U+202E]dcba</bdi>')
  for (const text of hostile.slice(0, 4)) expect(page).not.toContain(text)
  const rows = page.slice(page.indexOf('All 14 rows'))
  expect(rows.match(/<tr><th scope="row"/g)).toHaveLength(14)
  expect(page).toContain(
    'The mirror was last read to its end at 2026-06-01T12:00:00Z; every send looks at the live',
  )
})

test('the CSV has no cell that a spreadsheet runs as a formula', async () => {
  const csv = await writeReview((path) => openCsvOutput(path, overwrite), 'review.csv')
  expect(csv).toMatch(/^\ufeffrow,id,operation,target,visitor_name,outcome,/)
  expect(csv).toMatch(/,mirror_as_of\r\n.*,2026-06-01T12:00:00Z\r\n/)
  expect(csv).not.toMatch(/(^|,|\r\n)"?[=@+]/)
  expect(csv).toContain(`"'=HYPERLINK(""http://evil"",""x"")"`)
})

test('a file that exists is not overwritten, and an unfinished one does not appear', async () => {
  const path = join(createTempFolder(onTestFinished), 'replies.csv')
  writeFileSync(path, 'mine')
  await expect(openCsvOutput(path, overwrite)).rejects.toThrow(/the file exists/)
  const output = await openCsvOutput(path, { overwrite: true, kept: [] })
  await output.write([reviewWith('a', 1)])
  await output.close()
  expect(readFileSync(path, 'utf8')).toBe('mine')
})

test.each([
  ['plain words, zwölf, 山田', 'plain words, zwölf, 山田'],
  ['a\u200bb\u00adc\u0000d', 'a[U+200B]b[U+00AD]c[U+0000]d'],
  ['👩🏽\u200d🚀 ❤️\u200d🔥', '👩🏽\u200d🚀 ❤️\u200d🔥'],
  ['a\u200db', 'a[U+200D]b'],
  [
    '1️⃣ ☎︎ 🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f} 🇩🇪 क्\u200dष',
    '1️⃣ ☎︎ 🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f} 🇩🇪 क्\u200dष',
  ],
  ['a\ufe0fb\u{e0101}c', 'a[U+FE0F]b[U+E0101]c'],
  [
    '\u034f\u17b4\u180b\u180f\u{1d159}\u2800\u3164',
    '[U+034F][U+17B4][U+180B][U+180F][U+1D159][U+2800][U+3164]',
  ],
])('invisible characters of %j are shown', (text, expected) => {
  expect(showInvisible(text)).toBe(expected)
})
