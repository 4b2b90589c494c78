/** What a certificate does not prove, and why. Pure. */
import type { CertificateLimit, CertifiedComparison, CertifiedStream } from '../core/certificate.ts'
import type { GapReport } from '../core/command-reports.ts'
import { formatCount, pluralize } from '../core/format.ts'
import { hasStartDate, isListStream, type StreamName } from '../core/stream-specs.ts'

export type LimitFacts = {
  readonly streams: readonly CertifiedStream[]
  readonly comparison: CertifiedComparison
  readonly gaps: readonly GapReport[]
  readonly countedAt: string
  readonly startDate: string | null
  /** Learned behaviours by their names. */
  readonly behaviours: ReadonlyMap<string, string>
  /** Conversations whose messages the service does not list completely. */
  readonly incompleteConversations: number
}

export function listLimits(facts: LimitFacts): CertificateLimit[] {
  return [...facts.streams.flatMap((stream) => limitsOfStream(facts, stream)), ...generalLimits(facts)]
}

function limitsOfStream(facts: LimitFacts, certified: CertifiedStream): CertificateLimit[] {
  const { stream, deleted, rows, openGaps } = certified
  const limit = (what: string, why: string): CertificateLimit => ({ stream, what, why })
  const compared = facts.comparison.streams.find((report) => report.stream === stream)
  const listed = facts.gaps.filter((gap) => gap.stream === stream).length
  const gaps = Math.max(openGaps, listed)
  const order = facts.behaviours.get(`${stream}.order`)
  return [
    ...(compared === undefined || compared.notCompared !== null
      ? [limit('whether its rows are those of the service', `not compared: ${compared?.notCompared ?? 'not selected'}`)]
      : []),
    ...(certified.syncedAt === null ? [limit('that it is complete', 'no sync has read it to its end yet')] : []),
    ...(deleted > 0
      ? [
          limit(
            'whether deleted rows are as the service last had them',
            `it no longer shows them: ${pluralize(deleted, 'row')}, kept here, and not in the digests`,
          ),
        ]
      : []),
    ...(compared?.incomplete == null ? [] : [limit('that every row was compared', compared.incomplete)]),
    ...(gaps > 0
      ? [
          limit(
            'that nothing is missing',
            `${pluralize(gaps, 'gap')} known and open, ${listed === gaps ? '' : `${formatCount(listed)} of them `}listed in this certificate`,
          ),
        ]
      : []),
    ...(facts.startDate !== null && (hasStartDate(stream) || stream === 'analytics')
      ? [limit(`anything before ${facts.startDate}`, 'the start date of the configuration: it is not mirrored')]
      : []),
    ...(isListStream(stream) && rows > 0 && (order === undefined || /^(unknown|both)/.test(order))
      ? [
          limit(
            'that its list showed every row',
            'the order of its pages is not known: rows that moved between two pages may not have been shown',
          ),
        ]
      : []),
    ...(stream === 'messages' && facts.incompleteConversations > 0
      ? [
          limit(
            `that all messages of ${pluralize(facts.incompleteConversations, 'conversation')} are here`,
            'the service does not list all of them (messages_complete is false)',
          ),
        ]
      : []),
    ...own[stream].map(([what, why]) => limit(what, why)),
  ]
}

const none: readonly (readonly [what: string, why: string])[] = []

const own: Readonly<Record<StreamName, typeof none>> = {
  conversations: none,
  messages: none,
  visitors: [['internal notes', 'the service accepts notes and never shows them']],
  visitor_activity: none,
  calls: none,
  call_recordings: [['the recordings themselves', 'only what the service says about them is mirrored']],
  analytics: [
    ['how the service counts', 'rollups are compared as they are; `status` says what our own counts explain'],
  ],
  availability: [['earlier snapshots', 'the service shows only the present state and keeps no history']],
}

function generalLimits({ comparison, countedAt }: LimitFacts): CertificateLimit[] {
  const limit = (what: string, why: string): CertificateLimit => ({ stream: null, what, why })
  const { sample, from, to, streams } = comparison
  const compared = streams.reduce((sum, stream) => sum + stream.compared, 0)
  return [
    limit(
      'one moment of the service',
      `it was read from ${from} to ${to}; what changed meanwhile may count as a difference, or not be seen`,
    ),
    limit(
      'that the rows that were counted are those that were compared',
      `they were counted at ${countedAt}; a sync may have changed some after they were compared`,
    ),
    ...(sample !== null
      ? [
          limit(
            'rows that were not drawn',
            `${formatCount(compared)} rows were compared; rows that the mirror does not have cannot be drawn`,
          ),
        ]
      : []),
    limit('rows that the service had deleted before they were first read', 'it shows no deleted rows'),
    limit('columns and tables derived from the rows', 'the digests are of the rows as the service sent them'),
    limit(
      'who wrote this file',
      'it is not signed; whoever noted the SHA-256 of the .json file elsewhere can tell whether it was changed',
    ),
  ]
}
