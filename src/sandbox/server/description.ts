/** The service's own description, as the file and as a page for people. */
import { existsSync, readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { type Description, pageFor } from './docs-page.ts'

/** In a checkout the file is three floors up, in a build one more. */
const places = ['../../../schema/openapi.yaml', '../../../../schema/openapi.yaml'].map(
  (path) => new URL(path, import.meta.url),
)

let loaded: string | undefined

export function descriptionText(): string {
  if (loaded === undefined) {
    const place = places.find((candidate) => existsSync(candidate))
    if (place === undefined) throw new Error('schema/openapi.yaml is missing')
    loaded = readFileSync(place, 'utf8')
  }
  return loaded
}

export function descriptionPage(): string {
  return pageFor(parse(descriptionText()) as Description)
}
