/**
 * What a project is called: by the service and in every table, or by people, in the configuration and on pages. Text fits
 * both, but neither fits the other.
 */
export type ProjectId = string & { readonly is?: 'the id in the service' }
export type ProjectName = string & { readonly is?: 'the name in the configuration' }
