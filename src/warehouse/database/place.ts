/** Where a warehouse is. No password is ever printed. */
import { UserError } from '../../core/user-error.ts'

export type Place =
  | { readonly kind: 'sqlite'; readonly path: string }
  | { readonly kind: 'postgres'; readonly url: string }

export function parseDatabaseUrl(url: string): Place {
  if (url.startsWith('sqlite:') && url.length > 'sqlite:'.length) return { kind: 'sqlite', path: sqlitePath(url) }
  if (/^postgres(ql)?:\/\//.test(url) && URL.canParse(url)) return { kind: 'postgres', url }
  throw new UserError({
    what: 'cannot tell where the warehouse is',
    why: 'DESKMIRROR_DATABASE_URL is neither sqlite:PATH nor a readable postgres:// URL',
    next: 'write it like sqlite:deskmirror.db or postgres://user:password@host/database',
    exitCode: 2,
  })
}

/** `sqlite:desk.db`, `sqlite:/var/lib/desk.db`, and `sqlite:///var/lib/desk.db` too. */
function sqlitePath(url: string): string {
  return url.slice('sqlite:'.length).replace(/^\/\/(?=\/)/, '')
}

/** For a person: what could not be opened, without credentials. */
export function nameOfPlace(place: Place): string {
  if (place.kind === 'sqlite') return `sqlite:${place.path}`
  const { hostname, port, pathname } = new URL(place.url)
  return `postgres://${hostname}${port === '' ? '' : `:${port}`}${pathname}`
}
