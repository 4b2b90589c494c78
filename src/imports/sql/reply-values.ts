/** What the mirror knows for the placeholders of replies. */
import { sql } from 'kysely'
import { type TemplateValues, toTemplateValues } from '../../values/reply-template.ts'
import { batchesOf, inAnyCase, inList } from '../../warehouse/dialect.ts'
import { decodeText } from '../../warehouse/escape.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'

const conversationsPerRead = 5_000

/** By the id of the conversation, in small letters; one that is not mirrored is missing. */
export async function readReplyValues(
  { db, kind, project }: ProjectDb,
  conversations: readonly string[],
  timeZone: string,
): Promise<ReadonlyMap<string, Omit<TemplateValues, 'sender'>>> {
  const found = new Map<string, Omit<TemplateValues, 'sender'>>()
  for (const some of batchesOf(conversations, conversationsPerRead)) {
    const ids = inAnyCase(some)
    const { rows } = await sql<{ id: string } & Record<'name' | 'email' | 'at', string | null>>`
      select c.id, v.name, v.email, c.created_at as at from conversations as c
      left join visitors as v on v.project_id = ${project} and v.id = c.visitor_id
        and v.deleted_at is null
      where c.project_id = ${project} and c.id ${inList(kind, ids)} and c.deleted_at is null
      `.execute(db)
    for (const { id, name, email, at } of rows) {
      const sought = { name: decodeText(name), email: decodeText(email), createdAt: at }
      found.set(id.toLowerCase(), toTemplateValues(sought, timeZone))
    }
  }
  return found
}
