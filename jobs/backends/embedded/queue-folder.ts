/** Where the embedded queue keeps its files. */
import { parseDatabaseUrl } from '../../../src/warehouse/database/location.ts'

/** Next to the SQLite file, so that both are kept and moved together; else in the working folder. */
export function embeddedQueueFolder(databaseUrl: string): string {
  const location = parseDatabaseUrl(databaseUrl)
  return location.kind === 'sqlite' && !location.path.startsWith(':') ? `${location.path}-queue` : 'deskmirror-queue'
}
