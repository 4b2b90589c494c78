/**
 * Lists of conversations as sheets of replies: who waits, what a search finds, and those of a
 * visitor.
 */
import { type RawBuilder, sql } from 'kysely'
import { waitingCounted } from '../../analytics/sql/waiting.ts'
import type { ProjectConfig } from '../../config/config.ts'
import {
  downloadedColumns,
  type SheetCells,
  type SheetRow,
  toSheetCells,
} from '../../imports/reply-sheet.ts'
import { inChunks } from '../../values/chunks.ts'
import type { EpochMs, Ms } from '../../values/time.ts'
import { listParameter } from '../../warehouse/dialect.ts'
import { decodeText } from '../../warehouse/escape.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'
import { waitsFor } from './conversations.ts'
import { idsOfVisitor, searchIds } from './search.ts'

export type SheetList =
  /** Who waits for at least that long. */
  | { readonly kind: 'waiting'; readonly minAgeMs: Ms; readonly isUnassigned: boolean }
  | { readonly kind: 'search'; readonly text: string }
  | { readonly kind: 'visitor'; readonly id: string }

const rowsPerRead = 500

/** Some rows at a time, with the cells of `downloadedColumns`. */
export async function* replySheet(
  context: ProjectDb,
  list: SheetList,
  { replies }: Pick<ProjectConfig, 'replies'>,
  now: EpochMs,
): AsyncGenerator<readonly SheetCells[]> {
  const columns = downloadedColumns(replies)
  for await (const ids of inChunks(listIds(context, list, now), rowsPerRead)) {
    const rows = new Map((await readRows(context, ids)).map((row) => [row.id, row]))
    yield ids.flatMap((id) => {
      const row = rows.get(id)
      return row === undefined ? [] : [toSheetCells(row, columns)]
    })
  }
}

async function* listIds(context: ProjectDb, list: SheetList, now: EpochMs): AsyncGenerator<string> {
  const { db, project } = context
  if (list.kind === 'search') return yield* searchIds(context, list.text)
  if (list.kind === 'visitor') return yield* await idsOfVisitor(context, list.id)
  const { rows } = await sql<{
    id: string
  }>`select conversation_id as id from ${waitingCounted} and project_id = ${project}
    and ${waitsFor(list.minAgeMs, context, now)}
    and ${list.isUnassigned ? sql`assigned_agent_id is null` : sql`true`}
    order by waiting_since, conversation_id`.execute(db)
  for (const { id } of rows) yield id
}

/** Of what the last words begin with, enough to know what they are about. */
const shownCharacters = 500

async function readRows(
  { db, kind, project }: ProjectDb,
  ids: readonly string[],
): Promise<readonly SheetRow[]> {
  // Of its events, such as a transfer, nobody expects that they are the last.
  const last = (
    column: RawBuilder<unknown>,
  ) => sql`(select ${column} from messages where project_id = ${project}
    and conversation_id = c.id and kind = 'utterance' and deleted_at is null
    order by id desc limit 1)`
  const { rows } = await sql<
    Omit<SheetRow, 'lastMessageId'> & { readonly lastMessageId: number | string | null }
  >`
    select c.id, visitors.name, visitors.email, f.waiting_since as "waitingSince",
      ${last(sql`id`)} as "lastMessageId",
      ${last(sql`substr(content, 1, ${sql.lit(shownCharacters)})`)} as "lastWords"
    from ${listParameter(kind, ids)} as listed join conversations as c on c.project_id = ${project}
    and c.id = listed.value
      left join visitors on visitors.project_id = ${project} and visitors.id = c.visitor_id
      left join fct_conversation as f on f.project_id = ${project}
      and f.conversation_id = c.id`.execute(db)

  return rows.map((row) => ({
    ...row,
    name: decodeText(row.name),
    email: decodeText(row.email),
    lastWords: decodeText(row.lastWords),
    lastMessageId: row.lastMessageId === null ? null : String(row.lastMessageId),
  }))
}
