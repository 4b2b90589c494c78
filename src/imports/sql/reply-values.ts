/** What the mirror knows for the placeholders of replies. */
import { sql } from 'kysely'
import { isHash } from '../../values/column-rules.ts'
import { localDateAt } from '../../values/days.ts'
import type { TemplateValues } from '../../values/reply-template.ts'
import { parseTime } from '../../values/time.ts'
import { inAnyCase, inList } from '../../warehouse/dialect.ts'
import { decodeText } from '../../warehouse/escape.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'

type Row = { readonly id: string } & Readonly<Record<'name' | 'email' | 'at', string | null>>

export type ReplyValues = ReadonlyMap<string, Omit<TemplateValues, 'sender'>>

const conversationsPerRead = 5_000

/** By the id of the conversation, in small letters; one that is not mirrored is missing. */
export async function readReplyValues(
  { db, kind, project }: ProjectDb,
  conversations: readonly string[],
  timeZone: string,
): Promise<ReplyValues> {
  const found: (readonly [string, Omit<TemplateValues, 'sender'>])[] = []
  for (let from = 0; from < conversations.length; from += conversationsPerRead) {
    const ids = inAnyCase(conversations.slice(from, from + conversationsPerRead))
    const { rows } = await sql<Row>`
      select c.id, v.name, v.email, c.created_at as at from conversations as c
      left join visitors as v on v.project_id = ${project} and v.id = c.visitor_id
        and v.deleted_at is null
      where c.project_id = ${project} and c.id ${inList(kind, ids)} and c.deleted_at is null
      `.execute(db)
    for (const { id, name, email, at } of rows) {
      const begun = parseTime(at)
      const date = begun === undefined ? null : localDateAt(begun, timeZone)
      found.push([id.toLowerCase(), { name: shown(name), email: shown(email), date }])
    }
  }
  return new Map(found)
}

/** A hash is not what it stands for. */
const shown = (text: string | null) => (text === null || isHash(text) ? null : decodeText(text))
