/**
 * What a person writes on a page becomes a draft in their batch of the day, by the checks of an
 * import.
 */
import { hash } from 'node:crypto'
import { Readable } from 'node:stream'
import { isDeepStrictEqual } from 'node:util'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { asDrafts, importWritebacks } from '../../app/import.ts'
import type { MistakeKind } from '../../imports/imports.ts'
import { openStatuses } from '../../outbox/core/state.ts'
import type { Outbox, OutboxEntry } from '../../outbox/outbox.ts'
import { capitalize } from '../../values/format.ts'
import { toSentences, UserError } from '../../values/user-error.ts'
import { addressOf } from '../blocks.ts'
import { draftRole } from '../core/permissions.ts'
import { settingsOf } from '../decisions.ts'
import { type DraftProblem, draftsTitle, whyNoDraft } from '../pages/draft-form.ts'
import { todayOf } from '../text.ts'
import type { OpenedToWrite, Site } from './site.ts'

/** Null: this person may not, there is nothing, or nothing can be written, and that is answered. */
export async function admitDraft(
  request: FastifyRequest<{ Params: { id: string } }>,
  reply: FastifyReply,
  site: Site,
  folder: 'conversations' | 'visitors',
) {
  const opened = await site.openToWrite(request, reply, draftRole)
  if (opened === null) return null
  const address = addressOf(opened.frame, folder, request.params.id)
  const whyNot = whyNoDraft(opened.frame)
  if (whyNot === null) return { ...opened, address }
  await site.sendProblem(reply, 403, 'Not allowed', whyNot, address, opened.project)
  return null
}

export const incompleteForm = ['This did not work', 'The form is incomplete.'] as const

export const isFormKey = (text: string) => /^[\da-f-]{36}$/.test(text)

export function problemOf(text: string, isRepeated = false): DraftProblem {
  return { text, isRepeated }
}

/** The same note, flag or correction waits already. */
export function findSame(queued: readonly OutboxEntry[], payload: object): DraftProblem | null {
  const same = queued.some(
    (entry) =>
      openStatuses.includes(entry.status) && isDeepStrictEqual({ ...entry.payload }, payload),
  )
  return same ? problemOf('The same is already waiting: see the write-backs on this page.') : null
}

/** A batch that was stopped is not joined: “Go on” is about what was in it then. */
async function findOpenBatch(outbox: Outbox, name: string): Promise<string> {
  for (let number = 1; ; number += 1) {
    const id = number === 1 ? name : `${name}-${number}`
    if ((await outbox.findBatch(id))?.stoppedAt == null) return id
  }
}

/** `rows`: as an import has them. `detail`: in the audit log. Null: they are queued, or were. */
export async function queueDraft(
  { config, project, viewer, outbox, frame }: OpenedToWrite,
  {
    rows,
    allowDuplicates = false,
    detail,
  }: {
    readonly rows: readonly object[]
    readonly allowDuplicates?: boolean
    readonly detail: string
  },
): Promise<DraftProblem | null> {
  const source = Readable.from([Buffer.from(rows.map((row) => JSON.stringify(row)).join('\n'))])
  const batchId = await findOpenBatch(
    outbox,
    `drafts-${todayOf(frame)}-${hash('sha256', viewer.name).slice(0, 8)}`,
  )
  const report = await importWritebacks(
    config,
    settingsOf(config, project),
    { source, name: null, parse: { format: 'jsonl' } },
    {
      ...asDrafts,
      now: frame.now,
      allowDuplicates,
      createdBy: viewer.name,
      mistakesTarget: null,
      batchId,
      title: draftsTitle(frame),
      note: null,
      audit: (count, _, batch) => ({
        project: project.projectId,
        person: viewer.name,
        role: viewer.role,
        action: 'drafted',
        count,
        subject: batch,
        detail,
      }),
    },
  ).catch((error: unknown) => {
    if (error instanceof UserError) return error
    throw error
  })
  if (report instanceof UserError) return problemOf(capitalize(toSentences(report)))
  if (report.outcome === 'mistaken')
    return problemOf(
      report.kinds.map(describeMistake).join(' '),
      report.kinds.some(({ override }) => override === 'allow-duplicates'),
    )
  const isOther = 'differing' in report && report.differing > 0
  return isOther
    ? problemOf('This form was sent before with other content. To add this as well, send it again.')
    : null
}

const fieldNames: Readonly<Record<string, string>> = {
  content: 'The text',
  sender_name: 'The name',
  name: 'The name',
  email: 'The address',
}

/** `The text is empty.` */
function describeMistake({ field, why, override, found: [found] }: MistakeKind): string {
  if (override === null) return `${fieldNames[field ?? ''] ?? field ?? 'It'} ${why}.`
  return `${capitalize(why)}${found === undefined ? '' : ` (${found.value})`}.`
}
