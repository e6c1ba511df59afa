{{/*
What the operator may do in a watched namespace: the verbs that it uses and no other. It makes one
Secret per object (the admin token) and reads it by name; it never lists or watches Secrets. Secrets and
claims that a ModelServing names are looked for by name, to say when they are missing (and digests of API
keys are handed on to the activator, where there is one). Events are listed for pods that wait for a
node: whether one is on its way. `update`
on modelservings/finalizers is for clusters that enforce rights on blockOwnerDeletion.
*/}}
{{- define "kantha.watchRules" -}}
- apiGroups: [serving.kantha.dev]
  resources: [modelservings]
  verbs: [get, list, watch, patch]
- apiGroups: [serving.kantha.dev]
  resources: [modelservings/status]
  verbs: [patch]
- apiGroups: [serving.kantha.dev]
  resources: [modelservings/scale]
  verbs: [patch]
- apiGroups: [serving.kantha.dev]
  resources: [modelservings/finalizers]
  verbs: [update]
- apiGroups: [""]
  resources: [pods, services, serviceaccounts, configmaps]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [policy]
  resources: [poddisruptionbudgets]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [autoscaling]
  resources: [horizontalpodautoscalers]
  verbs: [get, list, watch, create, patch, delete]
{{- if .Values.activator.enabled }}
- apiGroups: [discovery.k8s.io]
  resources: [endpointslices]
  verbs: [get, create, patch, delete]
{{- end }}
- apiGroups: [""]
  resources: [secrets]
  verbs: [get, create, patch]
- apiGroups: [""]
  resources: [persistentvolumeclaims]
  verbs: [get]
- apiGroups: [""]
  resources: [events]
  verbs: [list, create, patch]
{{- end -}}
