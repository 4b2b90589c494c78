/** What `verify --against` and `audit` print. */
import { describe, expect, test } from 'vitest'
import type { DigestComparison } from '../../src/app/verify.ts'
import { command as auditCommand } from '../../src/cli/audit.ts'
import { command as verifyCommand } from '../../src/cli/verify.ts'
import { compareDigests } from '../../src/export/core/day-digests.ts'
import { type AuditResult, estimateDifferences } from '../../src/mirror/core/audit.ts'
import type { AuditReport } from '../../src/mirror/core/reports.ts'
import { runCommand } from './run-command.ts'

const now = Date.parse('2026-06-01T12:00:00Z')
const shop = ['--project', 'shop'] as const

test('verify --certificate, which there was, names what prints the same now', async () => {
  const { exit, err } = await runCommand(verifyCommand, ['--certificate', 'c'], {})
  expect([exit, err]).toEqual([2, expect.stringContaining('verify --json > FILE')])
})

describe('verify --against', () => {
  const digest = (day: string, rows: number, hash: string) => ({ day, rows, digest: hash })
  const then = [
    digest('2026-05-30', 5, 'a'),
    digest('2026-05-31', 20, 'b'),
    digest('2026-06-01', 1, 'c'),
  ]
  const comparison = (...days: ReturnType<typeof digest>[]): DigestComparison => {
    const of = (all: typeof days) => ({
      ...({ stream: 'messages', digest: '', days: all } as const),
      rows: all.reduce((sum, { rows }) => sum + rows, 0),
    })
    return {
      project: 'shop',
      countedAt: '2026-06-02T00:00:00Z',
      before: { file: 'c.json', countedAt: '2026-06-01T00:00:00Z', digest: 'abc' },
      streams: compareDigests([of(then)], [of(days)]),
    }
  }
  const print = async (report: DigestComparison, ...args: string[]) =>
    runCommand(verifyCommand, [...shop, '--against', 'c.json', ...args], {
      compareWithDocument: async () => report,
    })

  test('lists the days that are not the same, says what a digest does not tell, and exits with 3', async () => {
    const { exit, out } = await print(
      comparison(then[0]!, digest('2026-05-31', 20, 'x'), digest('2026-06-01', 8, 'y')),
    )
    expect(exit).toBe(3)
    expect(out.split('\n')).toEqual([
      'shop: counted at 2026-06-01T00:00:00Z, and again at 2026-06-02T00:00:00Z',
      expect.stringMatching(/rows then +rows now +days the same +more +fewer +changed/),
      expect.stringMatching(/^messages +26 +33 +1 +1 +0 +1/),
      expect.stringMatching(/^messages +2026-05-31 +changed +20 rows/),
      expect.stringMatching(/^messages +2026-06-01 +more +1 → 8 rows/),
      '2 days are not the same',
      'more, fewer: whether the other rows of such a day are the same is not known from a digest',
      '',
    ])
  })

  test('says that nothing has changed, and exits with 0', async () => {
    const { exit, out } = await print(comparison(...then))
    expect(exit).toBe(0)
    expect(out).toContain('nothing has changed: the rows of every day are the same')
  })

  test('prints no control characters that someone wrote into the file', async () => {
    const report = comparison(...then)
    const { out } = await print({
      ...report,
      before: { ...report.before, countedAt: '\u001b[2Jnow' },
    })
    expect(out).not.toContain('\u001b')
  })

  test('lists as many days as --limit says', async () => {
    const { out } = await print(comparison(), '--limit', '1')
    expect(out).toContain('… and 2 more; --limit raises the number')
  })
})

describe('audit', () => {
  const audit = (over: Partial<AuditResult> = {}): AuditResult => ({
    id: 'a',
    stream: 'conversations',
    startedAt: '2026-06-01T00:00:00Z',
    finishedAt: '2026-06-01T00:10:00Z',
    population: 90_000,
    drawn: 500,
    compared: 499,
    differing: 0,
    corrected: 0,
    gone: 1,
    unreadable: 0,
    requests: 1000,
    tookMs: 61_000,
    ...over,
  })
  const print = (result: AuditResult, over: Partial<AuditReport> = {}) =>
    runCommand(
      auditCommand,
      shop,
      {
        auditProject: async () => ({
          project: 'shop',
          audits: [result],
          differences: [],
          outcome: 'complete',
          requests: 1000,
          notices: [],
          estimates: estimateDifferences([result], now),
          ...over,
        }),
      },
      { now },
    )

  test('says what was read again and what follows, and exits with 0 if nothing differed', async () => {
    const { exit, out } = await print(audit())
    expect(exit).toBe(0)
    expect(out).toMatch(
      /^conversations +499 of 90,000 read again +0 differed +1 deleted in the service +1 min 1 s/,
    )
    expect(out).toContain(
      'with 95 % confidence fewer than 6 in 1,000 conversations differ; none of 499 read again in 1 audit differed',
    )
  })

  test('lists what differed, and exits with 3', async () => {
    const differences = [
      { stream: 'messages', key: 'c/7', kind: 'different', fields: ['content'] },
    ] as const
    const { exit, out } = await print(audit({ differing: 2, corrected: 1 }), { differences })
    expect([exit, out]).toEqual([
      3,
      expect.stringMatching(/\nmessages +c\/7 +different +content\n/),
    ])
    expect(out).toMatch(/^conversations .* 2 differed, 1 corrected /)
  })

  test('exits with 3 if it was interrupted, or a stream could not be audited', async () => {
    const { exit, out } = await print(audit(), { outcome: 'interrupted' })
    expect([exit, out]).toEqual([
      3,
      expect.stringContaining('interrupted: the running audit is lost'),
    ])
    expect((await print(audit(), { notices: ['visitors cannot be audited'] })).exit).toBe(3)
  })
})
