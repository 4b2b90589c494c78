/**
 * Finds the conversation that a row of a sheet is for by the visitor's address or exact name. What
 * is not certain is refused.
 */
import { sql } from 'kysely'
import { type ColumnRules, isHash } from '../../values/private-columns.ts'
import { batchesOf, inList } from '../../warehouse/dialect.ts'
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
  columns: ColumnRules,
): Promise<readonly VisitorMatch[]> {
  const found: VisitorMatch[] = []
  const stored = ({ email, name }: SoughtVisitor): SoughtVisitor => ({
    email: email && (columns.storedText('visitors', 'email', email)?.toLowerCase() ?? null),
    name: name && columns.storedText('visitors', 'name', name),
  })
  for (const some of batchesOf(sought, visitorsPerRead)) {
    const byEmail = await listCandidates(
      context,
      'email',
      some.flatMap((visitor) => stored(visitor).email ?? []),
    )
    const named = some.filter(({ email }) => email === null)
    const names = named.flatMap((visitor) => stored(visitor).name ?? [])
    const byName = await listCandidates(context, 'name', names)
    for (const visitor of some) {
      const by = visitor.email === null ? 'name' : 'email'
      const { [by]: key } = stored(visitor)
      const candidates = (by === 'name' ? byName : byEmail).get(key ?? '') ?? []
      const action = columns.actionOf('visitors', by)
      if (action === 'block') found.push(notStored(visitor, by))
      else
        found.push(choose(visitor, candidates, action === null ? (visitor[by] ?? '') : given[by]))
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
    select v.id as visitor, v.email, v.name, c.id as conversation, c.last_message_at as "lastAt",
    c.handled_at as "handledAt"
    from visitors as v left join conversations as c on c.project_id = ${project}
    and c.visitor_id = v.id and c.deleted_at is null
    where v.project_id = ${project} and ${key} ${inList(kind, wanted)} and v.deleted_at is null
    order by c.last_message_at desc, c.id`.execute(db)
  const decoded = rows.map((row) => ({
    ...row,
    email: decodeText(row.email),
    name: decodeText(row.name),
  }))
  return Map.groupBy(decoded, (row) =>
    by === 'email' ? (row.email ?? '').toLowerCase() : (row.name ?? ''),
  )
}

/** What is stored of it is a hash, so it is not stored here either. */
const given = { email: 'the address given', name: 'the name given' } as const

function notStored(visitor: SoughtVisitor, by: 'email' | 'name'): VisitorMatch {
  const why =
    'nobody can be found by it, because `columns` blocks ' +
    `visitors.${by}; write the conversation_id`
  return {
    mistake: { field: 'conversation_id', why, override: null, found: visitor[by] ?? '' },
  }
}

/** An address is an address, whatever else the row says; a name beside it is only looked at. */
function choose(
  { email }: SoughtVisitor,
  candidates: readonly Candidate[],
  wanted: string,
): VisitorMatch {
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
  const who = [name, email].find((text) => text !== null && !isHash(text)) ?? 'no name'
  return `${conversation} ${who}, ${handledAt === null ? 'open' : 'handled'}, ${last}`
}
