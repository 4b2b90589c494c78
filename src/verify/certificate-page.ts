/** A certificate as a page for people. */
import { describeEvidence } from '../core/audit.ts'
import type { Certificate, CertifiedComparison, CertifiedStream } from '../core/certificate.ts'
import { formatCount, pluralize, toPrintable } from '../core/format.ts'
import type { StreamName } from '../core/stream-specs.ts'
import { type Block, number, type Page, type Section, text } from '../report/page.ts'

/** `file`: the other file, with all of it. */
export type CertificateFile = { readonly name: string; readonly sha256: string }

export function certificatePage(certificate: Certificate, file: CertificateFile): Page {
  const { project, service, software, countedAt, digest, timeZone, startDate } = certificate
  const title = `Certificate of the mirror of ${project.name}`
  return {
    title,
    parts: [
      {
        title,
        notes: [
          `Project ${project.id}, counted at ${countedAt} by ${software}. Days are those of UTC; the service's rollups are read by days of ${timeZone}.`,
          startDate === null ? 'Mirrored as far back as the service goes.' : `Mirrored from ${startDate} on.`,
          `Compared with the service at ${toPrintable(service.replace(/^https?:\/\//, ''))}.`,
          `Digest of the rows: ${digest}`,
          `SHA-256 of ${file.name}, which states the same as this page: ${file.sha256}`,
        ],
        sections: [
          summarySection(certificate),
          ...differencesSection(certificate.comparison),
          limitsSection(certificate),
          gapsSection(certificate),
          auditSection(certificate),
          behavioursSection(certificate),
          ...certificate.streams.map(daysSection),
        ],
      },
    ],
  }
}

function summarySection({ comparison, streams }: Certificate): Section {
  const { sample, from, to, requests } = comparison
  const rows = streams.map(({ stream, rows: counted, deleted, syncedAt }) => {
    const report = comparison.streams.find((compared) => compared.stream === stream)
    const compared = report === undefined || report.notCompared !== null ? ['–', '–'] : countsOf(report)
    return [titleOf(stream), formatCount(counted), formatCount(deleted), ...compared, syncedAt ?? 'never']
  })
  const columns = [
    text('stream'),
    number('rows'),
    number('deleted'),
    number('compared'),
    number('differ'),
    text('last synced'),
  ]
  const what =
    sample === null
      ? 'Every row that the service shows'
      : `A random sample of ${formatCount(sample)} conversations and visitors, at most,`
  const sentence = `${what} was read again from ${from} to ${to}, with ${pluralize(requests, 'request')}, and compared with the mirror.`
  return {
    title: 'What was compared with the service',
    blocks: [
      { kind: 'text', text: sentence },
      { kind: 'table', table: { caption: 'Rows of the mirror, and how many were compared', columns, rows } },
    ],
  }
}

function countsOf({ compared, differing }: CertifiedComparison['streams'][number]): string[] {
  return [formatCount(compared), formatCount(differing)]
}

function differencesSection({ differences, truncated }: CertifiedComparison): Section[] {
  if (differences.length === 0) return []
  const rows = differences.map(({ stream, key, kind, fields }) => [titleOf(stream), key, kind, fields.join(', ')])
  const columns = ['stream', 'key', 'difference', 'fields'].map(text)
  const caption = truncated ? 'The first of them' : 'All of them'
  return [{ title: 'Differences', blocks: [{ kind: 'table', table: { caption, columns, rows: printable(rows) } }] }]
}

function limitsSection({ limits }: Certificate): Section {
  const rows = limits.map(({ stream, what, why }) => [stream === null ? 'all' : titleOf(stream), what, why])
  const columns = ['stream', 'not proven', 'why'].map(text)
  const table = { caption: 'What this certificate does not prove', columns, rows: printable(rows) }
  return { title: 'What cannot be proven', blocks: [{ kind: 'table', table }] }
}

function gapsSection({ gaps, streams }: Certificate): Section {
  const open = streams.reduce((sum, { openGaps }) => sum + openGaps, 0)
  const rows = gaps.map(({ stream, from, to, reason, foundAt }) => [
    titleOf(stream),
    from ?? '–',
    to ?? '–',
    reason,
    foundAt,
  ])
  const columns = ['stream', 'from', 'to', 'why', 'found'].map(text)
  const caption = open > gaps.length ? `Known to be missing: ${listedOf(gaps.length, open)}` : 'Known to be missing'
  const block: Block =
    open === 0 && gaps.length === 0
      ? { kind: 'text', text: 'No gap is known.' }
      : { kind: 'table', table: { caption, columns, rows: printable(rows) } }
  return { title: 'Gaps', blocks: [block] }
}

function listedOf(listed: number, open: number): string {
  return `${formatCount(listed)} of ${formatCount(open)}`
}

function auditSection({ audits }: Certificate): Section {
  const items = audits.map(
    (estimate) => `${estimate.words} (${describeEvidence(estimate)}), last at ${estimate.lastAt}`,
  )
  const block: Block =
    items.length === 0 ? { kind: 'text', text: 'No audit within the last 30 days.' } : { kind: 'list', items }
  return { title: 'Audits of the last 30 days', blocks: [block] }
}

function behavioursSection({ behaviours }: Certificate): Section {
  const rows = behaviours.map(({ name, value, evidence, learnedAt }) => [name, value, evidence, learnedAt])
  const columns = ['behaviour', 'value', 'evidence', 'learned'].map(text)
  const caption = 'Not documented, and relied on to read the service completely'
  return {
    title: 'How the service behaves',
    blocks: [{ kind: 'table', table: { caption, columns, rows: printable(rows) } }],
  }
}

function daysSection({ stream, days, digest }: CertifiedStream): Section {
  const rows = days.map(({ day, rows: counted, digest: ofDay }) => [day ?? 'no day', formatCount(counted), ofDay])
  const columns = [text('day'), number('rows'), text('SHA-256')]
  const table = { caption: `${pluralize(days.length, 'day')}; of all of them: ${digest}`, columns, rows }
  return { title: `Days of ${titleOf(stream)}`, blocks: [{ kind: 'table', table }] }
}

function titleOf(stream: StreamName): string {
  return stream.replaceAll('_', ' ')
}

/** Texts of the service may control the direction of others. */
function printable(rows: readonly (readonly string[])[]): readonly (readonly string[])[] {
  return rows.map((row) => row.map(toPrintable))
}
