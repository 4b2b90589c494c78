/** Importing a file in the browser: it becomes a draft batch, or a page that says what is wrong with it. */
import { randomBytes } from 'node:crypto'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fastifyMultipart, { type MultipartFile } from '@fastify/multipart'
import type { FastifyInstance } from 'fastify'
import { importWritebacks } from '../../app/import.ts'
import type { Config, ProjectConfig } from '../../config/config.ts'
import type { ImportOptions } from '../../outbox/outbox.ts'
import type { ProjectName } from '../../values/project.ts'
import type { EpochMs, Ms } from '../../values/time.ts'
import { UserError } from '../../values/user-error.ts'
import { addressOf } from '../blocks.ts'
import { draftRole } from '../core/permissions.ts'
import { settingsOf } from '../decisions.ts'
import { type ImportView, importPage } from '../pages/import.ts'
import type { Site } from './site.ts'

const maxFileBytes = 20_000_000
const maxNameLength = 200

export async function addImport(app: FastifyInstance, site: Site): Promise<void> {
  const { now, requireRole, findProject } = site
  const downloads = createDownloads(now)
  await app.register(fastifyMultipart, {
    throwFileSizeLimit: true,
    limits: { fileSize: maxFileBytes, files: 1, fields: 10, fieldSize: 4000, parts: 12 },
  })
  app.post<{ Params: { project: ProjectName } }>('/p/:project/import', async (request, reply) => {
    const { viewer } = request
    if (!(await requireRole(request, reply, draftRole))) return reply
    const config = site.config()
    const project = await findProject(request.params.project)
    if (viewer === null || project === null) return reply.callNotFound()
    if (config === null) return reply.code(403).send('')
    const part = request.isMultipart() ? await request.file() : undefined
    const form = readForm(part?.fields)
    const frame = await site.projectFrame(viewer, project)
    const show = (status: 400 | 422, view: Partial<ImportView>) =>
      site.send(reply.code(status), importPage({ ...form, ...view }, frame), project)
    if (part === undefined || part.filename === '') return show(400, { problem: 'choose a file' })
    const fileName = withoutControls(part.filename).slice(0, maxNameLength)
    const audit: ImportOptions['audit'] = (count, known, batch) => ({
      ...{ project: project.projectId, person: viewer.name, role: viewer.role, action: 'imported_drafts', count },
      subject: count === 0 ? null : batch,
      detail: `${fileName}${known === 0 ? '' : ` · ${known} rows were queued before`}`,
    })
    const file = { source: wholeFile(part.file), name: fileName }
    const options = { ...form, createdBy: viewer.name, audit, now: now() }
    const result = await importDrafts(config, settingsOf(config, project), file, options).catch((error: unknown) => {
      part.file.resume()
      if (error instanceof UserError) return { problem: `${error.message}. ${error.next}` }
      throw error
    })
    if ('problem' in result) return show(422, result)
    const { report, mistakesFile } = result
    if ('known' in report) {
      const { batch } = report
      return reply.redirect(batch === null ? addressOf(frame, 'writebacks') : addressOf(frame, 'batches', batch), 303)
    }
    const key = mistakesFile && downloads.add(viewer.name, mistakesFile)
    return show(422, { rejected: report, mistakesAddress: key && addressOf(frame, 'import', 'mistakes', key) })
  })
  app.get<{ Params: { key: string } }>('/p/:project/import/mistakes/:key', async (request, reply) => {
    if (!(await requireRole(request, reply, draftRole))) return reply
    const file = downloads.find(request.viewer?.name ?? '', request.params.key)
    if (file === null) return reply.callNotFound()
    return reply.type('text/csv').header('content-disposition', 'attachment; filename="mistakes.csv"').send(file)
  })
}

type DraftOptions = ReturnType<typeof readForm> & Pick<ImportOptions, 'createdBy' | 'audit' | 'now'>

/** Always as drafts, which send nothing. `mistakesFile`: the rows with mistakes as CSV; null = there are none. */
async function importDrafts(
  config: Config,
  project: ProjectConfig,
  file: { readonly source: AsyncIterable<Uint8Array>; readonly name: string },
  { title, note, ignoreColumns, ...options }: DraftOptions,
) {
  const folder = await mkdtemp(join(tmpdir(), 'deskmirror-import-'))
  try {
    const mistakesPath = join(folder, 'mistakes.csv')
    const parse = ignoreColumns ? { ignoreColumns: 'all' as const } : {}
    const ignored = { onReview: async () => {}, onProgress: () => {}, notify: () => {} }
    const texts = { title: title === '' ? null : title, note: note === '' ? null : note }
    const common = { ...options, ...texts, ...ignored, mistakesPath, expiresAt: null, draft: true, onReviews: null }
    const report = await importWritebacks(config, project, { ...file, parse }, common)
    const hasFile = report.outcome === 'mistaken' && report.mistakesFile !== null
    return { report, mistakesFile: hasFile ? await readFile(mistakesPath) : null }
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** The text fields that stand before the file. */
function readForm(fields: MultipartFile['fields'] | undefined) {
  const text = (name: string) => {
    const [field] = [fields?.[name]].flat()
    return field?.type === 'field' && typeof field.value === 'string' ? withoutControls(field.value) : ''
  }
  return {
    ...{ title: text('title'), note: text('note') },
    ...{ allowDuplicates: text('allowDuplicates') === 'yes', ignoreColumns: text('ignoreColumns') === 'yes' },
  }
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
