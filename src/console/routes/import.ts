/** Importing a file in the browser: it becomes a draft batch, or a page that says what is wrong with it. */

import { randomBytes } from 'node:crypto'
import fastifyMultipart, { type MultipartFile } from '@fastify/multipart'
import type { FastifyInstance } from 'fastify'
import { path } from '../../values/address.ts'
import type { ProjectName } from '../../values/project.ts'
import type { EpochMs, Ms } from '../../values/time.ts'
import { UserError } from '../../values/user-error.ts'
import { importRole } from '../core/permissions.ts'
import type { ImportRequest } from '../data/import-drafts.ts'
import { type ImportView, importPage } from '../pages/import.ts'
import type { ConsoleOptions } from './console-options.ts'
import { type FrameFor, requireRole, type SendPage } from './send-page.ts'

const maxFileBytes = 20_000_000
const maxNameLength = 200

export async function addImport(
  app: FastifyInstance,
  options: ConsoleOptions,
  frameFor: FrameFor,
  send: SendPage,
): Promise<void> {
  const downloads = createDownloads(options.now)
  await app.register(fastifyMultipart, {
    throwFileSizeLimit: true,
    limits: { fileSize: maxFileBytes, files: 1, fields: 10, fieldSize: 4000, parts: 12 },
  })
  app.post<{ Params: { project: ProjectName } }>('/p/:project/import', async (request, reply) => {
    const { viewer, params } = request
    if (!(await requireRole(request, reply, importRole, send))) return reply
    const decisions = options.decisions()
    const project = (await options.projects()).find(({ name }) => name === params.project)
    if (viewer === null || project === undefined) return reply.callNotFound()
    if (decisions === null) return reply.code(403).send('')
    const part = request.isMultipart() ? await request.file() : undefined
    const texts = textsOf(part?.fields)
    const form = {
      ...{ title: texts('title'), note: texts('note') },
      ...{ allowDuplicates: texts('allowDuplicates') === 'yes', ignoreColumns: texts('ignoreColumns') === 'yes' },
    }
    const show = async (status: 400 | 422, view: Partial<ImportView>) => {
      const frame = { ...(await frameFor(viewer, project)), project: project.name }
      const page = importPage({ ...form, rejected: null, problem: null, mistakesAddress: null, ...view }, frame)
      return send(reply.code(status), page, viewer, project)
    }
    if (part === undefined || part.filename === '') return show(400, { problem: 'choose a file' })
    const fileName = withoutControls(part.filename).slice(0, maxNameLength)
    const audit: ImportRequest['audit'] = (count, known, batch) => ({
      ...{ project: project.projectId, person: viewer.name, role: viewer.role, action: 'imported_drafts', count },
      subject: count === 0 ? null : batch,
      detail: `${fileName}${known === 0 ? '' : ` · ${known} rows were queued before`}`,
    })
    const wanted: ImportRequest = { ...form, name: fileName, source: wholeFile(part.file), by: viewer.name, audit }
    const result = await decisions.importDrafts(project, wanted).catch((error: unknown) => {
      part.file.resume()
      if (error instanceof UserError) return { problem: `${error.message}. ${error.next}` }
      throw error
    })
    if ('problem' in result) return show(422, result)
    if (result.rejected !== null) {
      const key = result.mistakesFile === null ? null : downloads.add(viewer.name, result.mistakesFile)
      const mistakesAddress = key === null ? null : path`/console/p/${project.name}/import/mistakes/${key}`
      return show(422, { rejected: result.rejected, mistakesAddress })
    }
    const { batch } = result
    const to = path`/console/p/${project.name}` + (batch === null ? '/writebacks' : path`/batches/${batch}`)
    return reply.redirect(to, 303)
  })
  app.get<{ Params: { key: string } }>('/p/:project/import/mistakes/:key', async (request, reply) => {
    if (!(await requireRole(request, reply, importRole, send))) return reply
    const file = downloads.find(request.viewer?.name ?? '', request.params.key)
    if (file === null) return reply.callNotFound()
    return reply.type('text/csv').header('content-disposition', 'attachment; filename="mistakes.csv"').send(file)
  })
}

/** Nothing of a file is imported unless all of it arrived, so the last of it comes only then. */
async function* wholeFile(file: MultipartFile['file']): AsyncGenerator<Uint8Array> {
  try {
    for await (const bytes of file) yield bytes
  } catch {
    throw refusedFile('it did not arrive whole', 'Send it again')
  }
  if (file.truncated) throw refusedFile('it is larger than 20 MB', 'Import it with `deskmirror writeback import`')
}

function refusedFile(why: string, next: string): UserError {
  return new UserError({ what: 'nothing was imported', why, next, exitCode: 2 })
}

/** The text fields that stand before the file. */
function textsOf(fields: unknown): (name: string) => string {
  const known = typeof fields === 'object' && fields !== null ? (fields as Record<string, unknown>) : {}
  return (name) => {
    const field = Object.hasOwn(known, name) ? known[name] : undefined
    const value = typeof field === 'object' && field !== null && 'value' in field ? field.value : undefined
    return typeof value === 'string' ? withoutControls(value) : ''
  }
}

/** Postgres stores no NUL, and a log has no use for the others. */
function withoutControls(text: string): string {
  return text.replace(/\p{Cc}+/gu, ' ').trim()
}

/** Files that a page offers right after it was made: kept in memory for a while, for the person who made them. */
const keptMs: Ms = 15 * 60_000
/** Each has 20 MB at most; the oldest go first. */
const maxFiles = 3

function createDownloads(now: () => EpochMs) {
  const files = new Map<string, { readonly person: string; readonly until: EpochMs; readonly bytes: Buffer }>()
  const forget = () => {
    for (const [key, { until }] of files) if (until <= now() || files.size > maxFiles) files.delete(key)
  }
  return {
    /** Returns the key. */
    add: (person: string, bytes: Buffer): string => {
      const key = randomBytes(18).toString('base64url')
      files.set(key, { person, until: now() + keptMs, bytes })
      forget()
      return key
    },
    find: (person: string, key: string): Buffer | null => {
      forget()
      const file = files.get(key)
      return file?.person === person ? file.bytes : null
    },
  }
}
