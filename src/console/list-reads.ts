/** Lists that are too slow for a page, remembered for a minute, and lists that download, whole. */
import { rememberResults } from '../http/remember-results.ts'
import type { EpochMs, Ms } from '../values/time.ts'
import type { ProjectDb } from '../warehouse/project-db.ts'
import type { ConsoleProject } from './project.ts'
import { type OpenFilter, readAgentsById, readOpen } from './sql/open-conversations.ts'
import { readVisitorCalls } from './sql/visitor.ts'
import { readWaits, type WaitFilter } from './sql/waits.ts'

const listsHoldMs: Ms = 60_000
const namesHoldMs: Ms = 10 * 60_000
/** Enough for a small mirror. */
const waitMs: Ms = 100
/** Of one reading of a list that downloads. */
const rowsPerPart = 20_000

type OpenDb = (project: ConsoleProject) => Promise<ProjectDb>

/** A page gets null while its list is still being read. */
export function createListReads(openDb: OpenDb, now: () => EpochMs) {
  const remember = <Input extends { readonly project: ConsoleProject }, T>(
    maxAgeMs: Ms,
    read: (db: ProjectDb, input: Input) => Promise<T>,
  ) => {
    const found = rememberResults({
      maxAgeMs,
      now,
      read: async (input: Input) => read(await openDb(input.project), input),
    })
    return (input: Input) => {
      const { project, ...rest } = input
      return found.soon(JSON.stringify([project.projectId, rest]), input, waitMs)
    }
  }
  type Of<Rest> = { readonly project: ConsoleProject } & Rest
  type WaitsPage = Of<{ readonly filter: WaitFilter; readonly after: string | null }>
  return {
    waits: remember(listsHoldMs, (db, { filter, after }: WaitsPage) =>
      readWaits(db, filter, after, now()),
    ),
    /** Of a visitor. */
    calls: remember(listsHoldMs, (db, { visitor }: Of<{ readonly visitor: string }>) =>
      readVisitorCalls(db, visitor),
    ),
    agentsById: remember(namesHoldMs, (db, _: Of<unknown>) => readAgentsById(db)),
    allWaits: (project: ConsoleProject, filter: WaitFilter) =>
      readAllPages(async (after) =>
        readWaits(await openDb(project), filter, after, now(), rowsPerPart),
      ),
    allOpen: (project: ConsoleProject, filter: OpenFilter) =>
      readAllPages(async (after) =>
        readOpen(await openDb(project), filter, after, now(), rowsPerPart),
      ),
  }
}

/** A part for each page. */
export async function* readAllPages<Row>(
  read: (after: string | null) => Promise<{ rows: readonly Row[]; next: string | null }>,
) {
  for (let after: string | null = null; ; ) {
    const { rows, next }: Awaited<ReturnType<typeof read>> = await read(after)
    yield rows
    if (next === null) return
    after = next
  }
}
