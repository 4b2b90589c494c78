/** The service's own description, as the file and as a page for people. */
import { existsSync, readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { type ApiDescription, renderDocsPage } from './docs-page.ts'

/** In a checkout the file is three floors up, in a build one more. */
const candidatePaths = ['../../../schema/openapi.yaml', '../../../../schema/openapi.yaml'].map(
  (path) => new URL(path, import.meta.url),
)

let cachedText: string | undefined

export function descriptionText(): string {
  if (cachedText === undefined) {
    const place = candidatePaths.find((candidate) => existsSync(candidate))
    if (place === undefined) throw new Error('schema/openapi.yaml is missing')
    cachedText = readFileSync(place, 'utf8')
  }
  return cachedText
}

export function descriptionPage(): string {
  return renderDocsPage(parse(descriptionText()) as ApiDescription)
}
