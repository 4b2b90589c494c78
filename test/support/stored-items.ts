/** Rows and answers without anything private, for mirrors whose columns are all stored. */
import { createMirrorGet } from '../../src/mirror/core/mirror-get.ts'
import type { ApiGet } from '../../src/service/core/api-request.ts'
import type { Json } from '../../src/values/json.ts'
import { type Kept, noColumnRules } from '../../src/values/private-columns.ts'

export const stored = (item: Json): Kept => noColumnRules.keep('', item)

export const keepAll = (get: ApiGet) => createMirrorGet(get, noColumnRules)
