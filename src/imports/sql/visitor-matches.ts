/**
 * Finds the conversation that a row of a sheet is for by the visitor's address or exact name. What
 * is not certain is refused.
 */
import { sql } from 'kysely'
import { inList } from '../../warehouse/dialect.ts'
import { decodeText, encodeText } from '../../warehouse/escape.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'
import type { SoughtVisitor, VisitorMatch } from '../reply-sheet.ts'

type Candidate = { readonly visitor: string } & Readonly<
  Record<'email' | 'name' | 'conversation' | 'lastAt' | 'handledAt', string | null>
>

const visitorsPerRead = 5_000

/** One for each, in their order. */
export async function findVisitorConversations(
  context: ProjectDb,
  sought: readonly SoughtVisitor[],
): Promise<readonly VisitorMatch[]> {
  const found: VisitorMatch[] = []
  for (let from = 0; from < sought.length; from += visitorsPerRead) {
    const some = sought.slice(from, from + visitorsPerRead)
    const byEmail = await listCandidates(
      context,
      'email',
      some.flatMap(({ email }) => email?.toLowerCase() ?? []),
    )
    const names = some.filter(({ email }) => email === null).flatMap(({ name }) => name ?? [])
    const byName = await listCandidates(context, 'name', names)
    for (const visitor of some) {
      const { email, name } = visitor
      const candidates = email === null ? byName.get(name ?? '') : byEmail.get(email.toLowerCase())
      found.push(choose(visitor, candidates ?? []))
    }
  }
  return found
}

async function listCandidates(context: ProjectDb, by: 'email' | 'name', values: readonly string[]) {
  if (values.length === 0) return new Map<string, Candidate[]>()
  const { db, kind, project } = context
  const wanted = [...new Set(values)].map((value) => encodeText(kind, value))
  const key = by === 'email' ? sql`lower(v.email)` : sql`v.name`
  // Joined, SQLite would go through all values for each visitor.
  const { rows } = await sql<Candidate>`
    select v.id as visitor, v.email, v.name, c.id as conversation, c.last_message_at as "lastAt", c.handled_at as "handledAt"
    from visitors as v left join conversations as c on c.project_id = ${project} and c.visitor_id = v.id and c.deleted_at is null
    where v.project_id = ${project} and ${key} ${inList(kind, wanted)} and v.deleted_at is null
    order by c.last_message_at desc, c.id`.execute(db)
  return Map.groupBy(rows.map(decode), (row) =>
    by === 'email' ? (row.email ?? '').toLowerCase() : (row.name ?? ''),
  )
}

function decode(row: Candidate): Candidate {
  const [email, name] = [row.email, row.name].map((text) =>
    text === null ? null : decodeText(text),
  )
  return { ...row, email: email ?? null, name: name ?? null }
}

/** An address is an address, whatever else the row says; a name beside it is only looked at. */
function choose({ email, name }: SoughtVisitor, candidates: readonly Candidate[]): VisitorMatch {
  const wanted = email ?? name ?? ''
  const conversations = candidates.filter(({ conversation }) => conversation !== null)
  const open = conversations.filter(({ handledAt }) => handledAt === null)
  // People share names, and one who has no open conversation may be meant.
  const isOnePerson = email !== null || new Set(candidates.map(({ visitor }) => visitor)).size === 1
  const [only, another] = isOnePerson && open.length === 1 ? open : conversations
  if (isOnePerson && only?.conversation != null && another === undefined)
    return { conversationId: only.conversation, foundBy: `${wanted} → ${describe(only)}` }
  const why =
    candidates.length === 0
      ? `no visitor has ${email === null ? 'exactly this name' : 'this address'}; write the conversation_id`
      : conversations.length === 0
        ? 'this visitor has no conversation'
        : 'several conversations could be meant; write the conversation_id of one'
  const more =
    conversations.length > maxCandidates
      ? [`… and ${conversations.length - maxCandidates} more`]
      : []
  const openFirst = [...open, ...conversations.filter(({ handledAt }) => handledAt !== null)]
  const listed = [...openFirst.slice(0, maxCandidates).map(describe), ...more].join(' · ')
  const shared = { field: 'conversation_id', why, override: null }
  if (listed === '') return { mistake: { ...shared, found: wanted } }
  return { mistake: { ...shared, found: `${wanted}: ${listed}`, candidates: listed } }
}

const maxCandidates = 4

/** `48a89980-… Ada Lovelace, open, last 2026-01-31` */
function describe({ conversation, name, email, lastAt, handledAt }: Candidate): string {
  const last = lastAt === null ? 'no message' : `last ${lastAt.slice(0, 16).replace('T', ' ')}`
  return `${conversation} ${name ?? email ?? 'no name'}, ${handledAt === null ? 'open' : 'handled'}, ${last}`
}
