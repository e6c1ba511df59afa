{{- define "kantha-crds.labels" -}}
{{- $own := dict
  "helm.sh/chart" (printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63)
  "app.kubernetes.io/name" "kantha-crds"
  "app.kubernetes.io/instance" .Release.Name
  "app.kubernetes.io/version" .Chart.AppVersion
  "app.kubernetes.io/managed-by" .Release.Service
  "app.kubernetes.io/part-of" "kantha" -}}
{{- mergeOverwrite (dict) (.Values.commonLabels | default dict) $own | toYaml -}}
{{- end -}}
