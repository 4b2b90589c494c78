/** What fills the rows of a file that name a text of `replies`. */
import type { ProjectConfig } from '../config/config.ts'
import { toMistake } from '../outbox/core/writeback-request.ts'
import type { ProjectDb } from '../warehouse/project-db.ts'
import { type FillReply, fillReply } from './fill-reply.ts'
import { type ImportFile, readImportLines } from './open-file.ts'
import { readReplyValues } from './sql/reply-values.ts'

/** The mirror is read once, so that all reads of the file agree. */
export async function prepareReplies(
  context: ProjectDb,
  file: ImportFile,
  { replies, timeZone }: Pick<ProjectConfig, 'replies' | 'timeZone'>,
): Promise<ImportFile> {
  if (Object.keys(replies).length === 0) return file
  const wanted = new Set<string>()
  const note: FillReply = ({ conversation }) => {
    wanted.add(conversation)
    return { mistake: toMistake(null, 'is still to be found') }
  }
  for await (const _ of readImportLines(file, { fillReply: note }));
  if (wanted.size === 0) return file
  const values = await context.retry.run(() => readReplyValues(context, [...wanted], timeZone))
  const fill: FillReply = (row) => fillReply(replies, row, values.get(row.conversation) ?? null)
  return { ...file, parse: { ...file.parse, fillReply: fill } }
}
